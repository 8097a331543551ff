"""Reading the logs of the original MLAgentBench: what its releases wrote for one run.

RUN/
  env_log/
    trace.json                 the steps: action, arguments, observation, time of the end
    traces/step_N_files/       the workspace after step N, counted from 0
    traces/step_final_files/   the workspace at the end
    overall_time.txt           seconds of the whole run, missing when it was killed
    error.txt                  the harness's own traceback, when it failed
  agent_log/
    main_log                   the agent's replies with their observations (see original_replies.py)
    step_N_log.log             what the model was asked and said for Step N of main_log
    agent_STEP_N.json          the agent's state, with the command line's arguments

Everything except the steps may be missing.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from mlagentbench.errors import FailureCause, UsageError
from mlagentbench.fs import parse_json, read_regular
from mlagentbench.records import Json, Outcome, Record

TASKS = {
    "amp-parkinsons-disease-progression-prediction": "parkinsons-disease",
    "cifar10-training": "cifar10",
}
"""The original's names of tasks that are named differently here, in lower case."""
AGENTS = {
    "ResearchAgent": "research",
    "ReasoningActionAgent": "react",
    "SimpleActionAgent": "action-only",
    "LangChainAgent": "langchain",
    "AutoGPTAgent": "autogpt",
    "Agent": "baseline",
}
LONGEST_NAME = 200
LATEST = 4_102_444_800.0
"""The year 2100 in seconds; later times are invalid."""
FINAL_ANSWER = "Final Answer"
_STEP_FILES = re.compile(r"step_(\d+)_files")
_STEP_LOG = re.compile(r"step_(\d+)_log\.log")
_AGENT_STATE = re.compile(r"agent_(\d+)_(\d+)\.json")
_TOO_LONG = re.compile(r"TooLongPromptError|maximum context length|prompt is too long", re.I)
_PROVIDER = re.compile(r"openai|anthropic|crfm|vertex|LLMError|rate.?limit|Connection", re.I)


class LegacyStep(Record):
    """One step of a trace; arguments that are not an object get a name."""

    action: str
    arguments: dict[str, Json]
    observation: str
    ended: float | None


def _name(value: Json) -> str | None:
    """A name that can be part of a path."""
    if not isinstance(value, str) or not value.isprintable() or not value.strip(". "):
        return None
    return value if len(value) <= LONGEST_NAME else None


def _amount(value: Json) -> float | None:
    """A number from 0 to LATEST, also as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= LATEST else None


def _count(value: Json) -> int | None:
    number = _amount(value)
    return None if number is None else int(number)


def _flag(value: Json) -> bool:
    return value is True


Name = Annotated[str | None, BeforeValidator(_name)]
Flag = Annotated[bool, BeforeValidator(_flag)]


class LegacySettings(Record):
    """The command line of a run, from the agent's state; invalid values are unknown."""

    model_config = ConfigDict(extra="ignore")

    task: Name = None
    agent: Annotated[Name, Field(alias="agent_type")] = None
    model: Annotated[Name, Field(alias="llm_name")] = None
    fast_model: Annotated[Name, Field(alias="fast_llm_name")] = None
    edit_model: Annotated[Name, Field(alias="edit_script_llm_name")] = None
    max_steps: Annotated[int | None, BeforeValidator(_count)] = None
    max_seconds: Annotated[float | None, BeforeValidator(_amount), Field(alias="max_time")] = None
    interactive: Flag = False
    retrieval: Flag = False


class LegacyRun(Record):
    """One run of the original. `files` has the directories of the steps that kept their files."""

    directory: Path
    trace_hash: str
    steps: tuple[LegacyStep, ...]
    actions: tuple[str, ...]
    settings: LegacySettings
    files: dict[int, Path]
    final_files: Path | None
    seconds: float | None
    error: str | None
    main_log: str
    step_logs: dict[int, str] = {}

    @property
    def started(self) -> float | None:
        """When the run began, in seconds; without its overall time, when its first step ended."""
        times = [step.ended for step in self.steps if step.ended is not None]
        if not times or self.seconds is None:
            return times[0] if times else None
        return min(times[0], times[-1] - self.seconds)

    @property
    def outcome(self) -> Outcome:
        """How the run ended, as far as its logs show."""
        if self.error is not None:
            return _failure(self.error)
        if any(step.action == FINAL_ANSWER for step in self.steps):
            return Outcome(kind="submitted")
        if self.seconds is None:
            return Outcome(kind="interrupted", detail="the log has no end")
        limit = self.settings.max_seconds
        if limit is not None and self.seconds >= limit:
            return Outcome(kind="time")
        if self.settings.max_steps is not None and len(self.steps) < self.settings.max_steps:
            return Outcome(
                kind="steps", detail="ended early, without an answer, for unknown reasons"
            )
        return Outcome(kind="steps")


def find_logs(directory: Path) -> list[Path]:
    """The directories of all runs at or below this one, at any depth."""
    return sorted(found.parent for found in _env_logs(directory))


def _env_logs(directory: Path) -> Iterator[Path]:
    """Folders named env_log; workspaces inside them are not searched."""
    for path in directory.iterdir():
        if path.is_symlink() or not path.is_dir():
            continue
        if path.name == "env_log":
            yield path
        else:
            yield from _env_logs(path)


def read_log(directory: Path) -> LegacyRun:
    """Read one run; a UsageError when it has no readable steps."""
    env_log, agent_log = directory / "env_log", directory / "agent_log"
    trace_file = env_log / "trace.json"
    if not trace_file.is_file():
        raise UsageError("env_log has no trace.json: the run ended before its first step")
    contents = read_regular(trace_file)
    trace = _object(_parsed(contents, trace_file))
    steps = tuple(_steps(trace.get("steps")))
    if not steps:
        raise UsageError(f"{trace_file.name} has no steps")
    traces = env_log / "traces"
    final = traces / "step_final_files"
    return LegacyRun(
        directory=directory,
        trace_hash=hashlib.sha256(contents).hexdigest(),
        steps=steps,
        actions=tuple(_object(trace.get("action_infos"))),
        settings=_settings(agent_log),
        files=dict(_step_files(traces)),
        final_files=final if _is_own_directory(final) else None,
        seconds=_amount(_text(env_log / "overall_time.txt")),
        error=_text(env_log / "error.txt"),
        main_log=_text(agent_log / "main_log") or "",
        step_logs=dict(_step_logs(agent_log)),
    )


def task_name(run: LegacyRun, top: Path) -> str | None:
    """Our id of the task, from the agent's state or else from the directory's path."""
    if run.settings.task is not None:
        return _our_task(run.settings.task)
    from mlagentbench.tasks.task import task_folders

    known = sorted({*task_folders(), *TASKS}, key=len, reverse=True)
    inside = [top.name, *run.directory.relative_to(top).parts]
    for part in reversed(inside):
        words = f"-{re.sub('[^a-z0-9]+', '-', part.lower())}-"
        for name in known:
            if f"-{name}-" in words:
                return _our_task(name)
    return None


def _our_task(name: str) -> str:
    folded = name.lower().replace("_", "-")
    return TASKS.get(folded, folded)


def _failure(error: str) -> Outcome:
    """The outcome of an error in the original's harness; a too long prompt is the agent's fault."""
    lines = error.strip().splitlines()
    detail = lines[-1].strip() if lines else "an empty error.txt"
    if _TOO_LONG.search(error):
        return Outcome(kind="context", detail=detail)
    cause: FailureCause = "model" if _PROVIDER.search(error) else "harness"
    return Outcome(kind="failed", cause=cause, detail=detail)


def _steps(values: Json) -> Iterator[LegacyStep]:
    for value in values if isinstance(values, list) else []:
        step = _object(value)
        action = _object(step.get("action"))
        yield LegacyStep(
            action=str(action.get("name", "")).strip(),
            arguments=_arguments(action.get("name"), action.get("args")),
            observation=_observation(step.get("observation")),
            ended=_amount(step.get("timestamp")),
        )


def _arguments(name: Json, given: Json) -> dict[str, Json]:
    """Arguments that are not an object get the name that their action would use."""
    if given is None:
        return {}
    if isinstance(given, dict):
        return given
    return {"final_answer" if name == FINAL_ANSWER else "input": given}


def _observation(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _step_files(traces: Path) -> Iterator[tuple[int, Path]]:
    for path in sorted(traces.iterdir()) if traces.is_dir() else []:
        named = _STEP_FILES.fullmatch(path.name)
        if named and _is_own_directory(path):
            yield int(named[1]), path


def _step_logs(agent_log: Path) -> Iterator[tuple[int, str]]:
    for path in sorted(agent_log.iterdir()) if agent_log.is_dir() else []:
        named = _STEP_LOG.fullmatch(path.name)
        text = _text(path) if named else None
        if named and text is not None:
            yield int(named[1]), text


def _is_own_directory(path: Path) -> bool:
    """Whether it is a directory, not a link that could lead out of the logs."""
    return path.is_dir() and not path.is_symlink()


def _settings(agent_log: Path) -> LegacySettings:
    """From the latest readable state of the agent."""
    states = []
    for path in agent_log.iterdir() if agent_log.is_dir() else []:
        if named := _AGENT_STATE.fullmatch(path.name):
            states.append((int(named[1]), int(named[2]), path))
    for _step, _number_of_steps, path in sorted(states, reverse=True):
        try:
            args = _object(_object(_parsed(read_regular(path), path)).get("args"))
        except UsageError:
            continue
        return LegacySettings.model_validate(args)
    return LegacySettings()


def _parsed(contents: bytes, path: Path) -> Json:
    """The JSON value in a file; invalid Unicode is replaced."""
    try:
        return _clean(parse_json(contents.decode("utf-8", "replace").encode()))
    except ValueError as error:
        raise UsageError(f"{path.name} is damaged or cut off: {error}") from error


def _clean(value: Json) -> Json:
    """The value without lone surrogates, which JSON allows and UTF-8 files do not."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    return read_regular(path).decode("utf-8", "replace")
