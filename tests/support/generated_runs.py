"""Run directories written in milliseconds, as a harness would have left them: nobody ran anything.

Every run has some ten steps: it reads, runs and edits train.py, crashes now and then, and submits.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from chains import write_lines
from made_records import made_record
from made_runs import on_measured_data

from mlagentbench.records import Action, GradeRecord, Json, Observation, Outcome, RunRecord, Usage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import chained, first_hash
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    OutcomeLine,
    ReplyLine,
    RunLine,
)
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree

TASKS = (
    "house-price", "spaceship-titanic", "cifar10", "imdb", "feedback", "vectorization", "clrs",
    "fathomnet", "ogbn-arxiv", "babylm",
)  # fmt: skip
AGENTS = (
    ("research", "lab/large"), ("research", "lab/small"), ("react", "lab/large"),
    ("react", "lab/small"), ("tree", "lab/large"), ("tree", "lab/small"),
    ("autogpt", "lab/large"), ("autogpt", "lab/small"), ("baseline", "none"), ("nop", "none"),
)  # fmt: skip
PAPER_TASKS = (
    "cifar10", "imdb", "ogbn-arxiv", "house-price", "spaceship-titanic", "parkinsons-disease",
    "fathomnet", "feedback", "identify-contrails", "clrs", "babylm", "llama-inference",
    "vectorization",
)  # fmt: skip
VERSIONS = 12
"""Different states of the workspace that all runs share."""
FLOOR, BAR, REFERENCE = 0.6, 0.7, 0.8


@dataclass(frozen=True)
class LongNamed:
    """An agent with settings and models whose names are as long as real ones."""

    name: str
    model: str
    settings: dict[str, Json] = field(default_factory=dict)
    tasks: int = len(PAPER_TASKS)
    """It ran on so many of the paper's tasks."""


LONG_NAMED = (
    LongNamed(
        "research", "openai/gpt-5.2-codex-2026-10-14-preview",
        {"retrieval": True, "fast_model": "anthropic/claude-haiku-4-5-20251001", "research_log": 1},
    ),
    LongNamed(
        "research", "openai/gpt-5.2-codex-2026-10-14-preview",
        {"retrieval": False, "fast_model": "anthropic/claude-haiku-4-5-20251001"},
    ),
    LongNamed("react", "vllm/meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"),
    LongNamed(
        "tree", "anthropic/claude-opus-4-1-20250805",
        {"num_drafts": 5, "debug_probability": 0.5, "selection": "best-validation"}, tasks=3,
    ),
    LongNamed("command(codex_with_a_long_configuration_name)", "google/gemini-3-pro-experimental"),
)  # fmt: skip


def generate_runs(
    out: Path, epochs: int, tasks: int = len(TASKS), agents: int = len(AGENTS), seed: int = 0
) -> int:
    """Write tasks x agents x epochs runs below OUT; gives back how many."""
    snapshots = _workspaces(ObjectStore(out / "objects"))
    cells = list(product(TASKS[:tasks], AGENTS[:agents], range(1, epochs + 1)))
    for task, (agent, model), epoch in cells:
        chance = random.Random(f"{seed} {task} {agent} {model} {epoch}")
        record = made_record(
            epoch=epoch, task=task, agent=agent, model=model, metric="accuracy", better="higher",
            tier="mini", draw="public", draw_policy="public", generator="9e4e",
            answered_by="nobody" if model == "none" else "model",
        )  # fmt: skip
        write_run(out, record, list(_lines(record, snapshots, chance)), _grade(agent, chance))
    return len(cells)


def generate_paper_set(out: Path, epochs: int = 8) -> int:
    """Write the runs of LONG_NAMED on the paper's tasks; gives back how many.

    On every third task one run is missing, on cifar10 of the first agent three are.
    """
    snapshots = _workspaces(ObjectStore(out / "objects"))
    runs = 0
    for number, agent in enumerate(LONG_NAMED):
        for place, task in enumerate(PAPER_TASKS[: agent.tasks]):
            missing = 3 if place == number == 0 else int(place % 3 == 1)
            for epoch in range(1, epochs + 1):
                chance = random.Random(f"{number} {task} {epoch}")
                record = made_record(
                    epoch=epoch, agent=agent.name, agent_settings=agent.settings,
                    model=agent.model, roles={"fast": agent.model, "edit": agent.model},
                    metric="accuracy", better="higher", answered_by="model",
                    **on_measured_data(task),
                )  # fmt: skip
                lines = list(_lines(record, snapshots, chance))
                if epoch <= missing:
                    detail = "the provider answered 503 to all 11 tries"
                    failed = Outcome(kind="failed", cause="model", detail=detail)
                    lines[-1] = lines[-1].model_copy(update={"outcome": failed})
                grade = None if epoch <= missing else _grade(agent.name, chance)
                write_run(out, record, lines, grade)
                runs += 1
    return runs


def write_run(
    out: Path, record: RunRecord, lines: list[AnyLine], grade: GradeRecord | None
) -> RunDirectory:
    """Write one run directory."""
    settings = json.dumps(record.disclosure.agent_settings).encode()
    digest = hashlib.sha256(settings).hexdigest() if settings != b"{}" else "0" * 8
    run = RunDirectory(out, Path(record.directory(digest)))
    run.path.mkdir(parents=True)
    run.run_json.write_text(record.model_dump_json(indent=2))
    write_lines(run, lines)
    if grade is not None:
        last = max((line.step for line in lines if isinstance(line, EndLine)), default=0)
        payload = grade.model_copy(update={"step": last}).model_dump_json().encode()
        run.grades.write_bytes(chained([payload], first_hash(run.grades)))
    return run


def _workspaces(store: ObjectStore) -> list[str]:
    ids = []
    for version in range(VERSIONS):
        program = f"EPOCHS = {version}\n" + "".join(
            f"layer_{line} = build({line * version % 7})\n" for line in range(60)
        )
        files = {"submission.csv": f"id,y\n1,{version}\n", "train.py": program}
        entries = [
            Entry(name, "file", 0o644, store.put(text.encode())).line()
            for name, text in sorted(files.items())
        ]
        ids.append(put_tree(store, entries))
    store.commit()
    return ids


def _grade(agent: str, chance: random.Random) -> GradeRecord:
    known: dict[str, Any] = {"floor": FLOOR, "bar": BAR, "reference": REFERENCE}
    if agent == "nop" or chance.random() < 0.1:
        return GradeRecord(
            step=0, valid=False, reason="no submission: submission.csv not found", success=False,
            success_reason="no valid submission", paper_success=False, **known,
        )  # fmt: skip
    score = FLOOR if agent == "baseline" else chance.gauss(0.7, 0.08)
    return GradeRecord(
        step=0, valid=True, score=score, normalised=(score - FLOOR) / (REFERENCE - FLOOR),
        success=score >= BAR, success_reason="-", paper_improvement=score / FLOOR - 1,
        paper_success=score / FLOOR - 1 > 0.1, **known,
    )  # fmt: skip


def _script(agent: str, chance: random.Random) -> Iterator[tuple[str, str, dict[str, Json], str]]:
    """What is said, done and seen at each step."""
    accuracy = chance.uniform(0.5, 0.9)
    run_it = {"script_name": "train.py"}
    if agent != "nop":
        yield "I look at what is there.", "List Files", {"dir_path": "."}, "train.py\ntest.csv"
        yield "I read the starter.", "Read File", {"file_name": "train.py"}, "EPOCHS = 0\n" * 40
        seen = f"epoch 1 loss=2.1\nvalidation accuracy={accuracy:.4f}"
        yield "I run it as it is.", "Execute Script", run_it, seen
    for attempt in range(0 if agent in ("nop", "baseline") else 3):
        said = f"The accuracy was {accuracy:.4f}. I try more epochs and another layer."
        written = {"file_name": "train.py", "content": f"EPOCHS = {attempt}\n" * 60}
        yield said, "Write File", written, "train.py was written: 60 lines."
        if chance.random() < 0.2:
            yield "I run it.", "Execute Script", run_it, "ValueError: shapes differ"
        accuracy = min(0.99, accuracy + chance.uniform(-0.02, 0.05))
        seen = "".join(f"epoch {n} loss={2 / (n + 1):.3f}\n" for n in range(20))
        yield "I run it.", "Execute Script", run_it, f"{seen}validation accuracy={accuracy:.4f}"
    yield f"Done with {accuracy:.4f}.", "Final Answer", {"final_answer": "done"}, "The run is over."


def _lines(record: RunRecord, snapshots: list[str], chance: random.Random) -> Iterator[AnyLine]:
    facts, clock, at = record.disclosure, 0.0, 1.7e9 + record.epoch * 1000
    with_model = facts.model != "none"
    yield RunLine(
        n=0, at=at, clock=0.0, task=facts.task, task_version=facts.task_version, tier=facts.tier,
        data_hash=facts.data_hash, actions=(), limits=facts.limits, snapshot=snapshots[0],
    )  # fmt: skip
    number, used, snapshot = 1, Usage(), snapshots[0]
    for step, (said, action, arguments, seen) in enumerate(_script(facts.agent, chance), start=1):
        took = chance.uniform(0.1, 20.0)
        if with_model:
            clock += 2.0
            yield ReplyLine(
                n=number, at=at + clock, clock=clock, step=step, role="main", prompt_hash="0" * 64,
                reply=said, input_tokens=1500 * step, output_tokens=120, cached_tokens=500,
                cost=0.01 * step, seconds=2.0,
            )  # fmt: skip
            number += 1
            used = Usage(
                steps=step, seconds=clock, input_tokens=used.input_tokens + 1500 * step,
                output_tokens=used.output_tokens + 120, cost=(used.cost or 0.0) + 0.01 * step,
            )  # fmt: skip
        if action in ("Write File", "Execute Script"):
            snapshot = chance.choice(snapshots)
        begun: dict[str, Any] = {"n": number, "at": at + clock, "clock": clock, "step": step}
        yield BeginLine(**begun, action=Action(name=action, arguments=arguments))
        clock += took
        failed = "Error" in seen
        used = used.model_copy(update={"steps": step, "seconds": clock})
        yield EndLine(
            n=number + 1, at=at + clock, clock=clock, step=step, snapshot=snapshot, usage=used,
            observation=Observation(
                text=seen, status="error" if failed else "ok", exit_code=1 if failed else None
            ),
            started=at + clock - took, seconds=took,
        )  # fmt: skip
        number += 2
    yield OutcomeLine(
        n=number, at=at + clock, clock=clock, outcome=Outcome(kind="submitted"), snapshot=snapshot,
        usage=used,
    )  # fmt: skip
