"""Logs in the layout of the original MLAgentBench, made by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGAN = 1_700_000_000.0
EXECUTED = "The script has been executed. Here is the output:\n"
CRASH = (
    f"{EXECUTED}Traceback (most recent call last):\n"
    "  File \"train.py\", line 1, in <module>\nNameError: name 'x' is not defined\n"
)
ARGUMENTS = {
    "task": "house-price",
    "agent_type": "ResearchAgent",
    "llm_name": "claude-v1",
    "fast_llm_name": "claude-instant",
    "edit_script_llm_name": "claude-v1",
    "max_steps": 50,
    "max_time": 18000,
    "retrieval": False,
    "interactive": False,
}


def step(
    name: str, args: Any = None, observation: str = "done", after: float = 10.0
) -> dict[str, Any]:
    """A step of trace.json that ended so many seconds after the run began."""
    return {
        "action": {"name": name, "args": {} if args is None else args},
        "observation": observation,
        "timestamp": BEGAN + after,
    }


USUAL_STEPS = [
    step("List Files", {"dir_path": "."}, "train.py\ntrain.csv\n", 10),
    step(
        "Edit Script (AI)",
        {"script_name": "train.py", "edit_instruction": "a forest", "save_name": "train.py"},
        "The edited file is saved to train.py. Here is the diff:\n+forest\n",
        40,
    ),
    step("Execute Script", {"script_name": "train.py"}, f"{EXECUTED}mae 0.5\n", 70),
    step("Final Answer", {"final_answer": "a forest"}, "end", 100),
]
USUAL_FILES = [
    {"train.py": "print(1)\n", "train.csv": "x,y\n1,2\n"},
    {"train.py": "forest\n", "train.csv": "x,y\n1,2\n", "backup/train.py_1": "print(1)\n"},
    {"train.py": "forest\n", "train.csv": "x,y\n1,2\n", "submission.csv": "id,y\n1,1\n"},
    {"train.py": "forest\n", "train.csv": "x,y\n1,2\n", "submission.csv": "id,y\n1,1\n"},
]


def reply(action: str, arguments: Any, thought: str = "Go on.") -> str:
    return (
        f"Reflection: Nothing.\nResearch Plan and Status: 1) try\n\nFact Check: none\n"
        f"Thought: {thought}\nAction: {action}\nAction Input: {json.dumps(arguments)}"
    )


def main_log(*entries: tuple[str, str]) -> str:
    """A main_log of replies with what was observed after each."""
    parts = ["Enabled Tools in Prompt: all\n", "=====Start=====\n", "You are an assistant.\n"]
    for number, (said, observed) in enumerate(entries):
        parts.append(f"Step {number}:\n\n\nAssistant:\n{said}\nObservation:\n")
        parts.append(f"\n```\n{observed}\n```\n\n")
    return "".join(parts)


REMINDER = "\n\n Your response was in incorrect format. Please provide a valid response with all"


def step_log(*asked: Sequence[str]) -> str:
    """A step_N_log.log: for each time that the agent asked, the replies until one could be used."""
    parts = []
    for replies in asked:
        for number, said in enumerate(replies):
            parts.append("\n===================prompt=====================\n")
            parts.append(f"\n\nHuman: You are an assistant.{REMINDER * number} \n\nAssistant:")
            parts.append("\n===================claude-v1 response (2000)=====================\n")
            parts.append(f"{said}\n===================tokens=====================\n")
            parts.append("Number of prompt tokens: 9\nNumber of sampled tokens: 9\n\n\n")
    return "".join(parts)


def usual_main_log() -> str:
    return main_log(
        *((reply(one["action"]["name"], one["action"]["args"]), one["observation"])
          for one in USUAL_STEPS)
    )  # fmt: skip


def write_log(
    directory: Path,
    steps: Sequence[dict[str, Any]] = USUAL_STEPS,
    files: Sequence[Mapping[str, str]] = USUAL_FILES,
    *,
    log: str | None = None,
    seconds: float | None = 105.0,
    error: str | None = None,
    arguments: Mapping[str, Any] | None = ARGUMENTS,
    step_logs: Mapping[int, str] | None = None,
) -> Path:
    """Write one run's logs."""
    env_log, agent_log = directory / "env_log", directory / "agent_log"
    agent_log.mkdir(parents=True)
    env_log.mkdir()
    trace = {
        "steps": list(steps),
        "low_level_steps": [],
        "action_infos": {"List Files": {}, "Final Answer": {}},
        "task_description": "Predict y.",
    }
    (env_log / "trace.json").write_text(json.dumps(trace))
    for number, contents in enumerate(files):
        for name, text in contents.items():
            path = env_log / "traces" / f"step_{number}_files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if seconds is not None:
        (env_log / "overall_time.txt").write_text(str(seconds))
    if error is not None:
        (env_log / "error.txt").write_text(error)
    (agent_log / "main_log").write_text(usual_main_log() if log is None else log)
    for number, text in (step_logs or {}).items():
        (agent_log / f"step_{number}_log.log").write_text(text)
    if arguments is not None:
        (agent_log / "agent_3_3.json").write_text(json.dumps({"args": dict(arguments)}))
    return directory
