"""A rich, made-up report: agents on tasks, with every kind of finding, outcome and gap.

Summaries are made by hand; some runs also have a directory with a journal and snapshots, so that
their pages have something to show.
"""

import hashlib
import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mlagentbench.analysis.findings import (
    ClaimCounts,
    Debugging,
    ErrorMode,
    Finding,
    Milestone,
    ProcessReport,
    ShownMode,
)
from mlagentbench.analysis.run_summary import (
    RoleUsage,
    RunEfficiency,
    RunSummary,
    ScorePoint,
    UnreadableRun,
    ValidationPoint,
)
from mlagentbench.errors import FailureCause, OutcomeKind
from mlagentbench.records import (
    Action,
    Disclosure,
    GradeRecord,
    Observation,
    ObservationStatus,
    Outcome,
    Rung,
    RunRecord,
    Usage,
)
from mlagentbench.report.report import report_data
from mlagentbench.report.report_data import CollectedRun, Collection, ReportData
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import (
    BeginLine,
    EndLine,
    EventLine,
    Line,
    OutcomeLine,
    ReplyLine,
    RunLine,
    whole_journal,
)
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree
from mlagentbench.runs.results import RunResult


@dataclass(frozen=True)
class MadeTask:
    """A task's scale: what is worth what."""

    name: str
    metric: str
    better: Literal["higher", "lower"]
    floor: float
    reference: float
    ceiling: float | None = None
    """In normalised scores."""

    def score(self, normalised: float) -> float:
        return self.floor + normalised * (self.reference - self.floor)


@dataclass(frozen=True)
class MadeAgent:
    """An agent, how good it is on average, and what a run takes."""

    name: str
    model: str
    skill: float
    tokens: int
    settings: tuple[tuple[str, object], ...] = ()


TASKS = (
    MadeTask("house-price", "mean absolute error", "lower", 39721.7, 13186.1, 1.3),
    MadeTask("cifar10", "accuracy", "higher", 0.412, 0.701, 1.6),
    MadeTask("imdb", "accuracy", "higher", 0.5, 0.871),
    MadeTask("vectorization", "time as a ratio to the starter's", "lower", 1.0, 0.052),
    MadeTask("spaceship-titanic", "accuracy", "higher", 0.503, 0.801),
)
AGENTS = (
    MadeAgent("nop", "none", -9.0, 0),
    MadeAgent("baseline", "none", 0.0, 0),
    MadeAgent("oracle", "none", 1.0, 0),
    MadeAgent("research", "openai/gpt-large", 0.75, 410_000),
    MadeAgent("research", "openai/gpt-large", 0.55, 300_000, (("retrieval", False),)),
    MadeAgent("react", "anthropic/opus-like", 0.85, 240_000),
    MadeAgent("react", "tiny/smollm2", 0.05, 31_000),
)


def made_summary(
    task: MadeTask, agent: MadeAgent, epoch: int, out: str = "results", steps: int = 12
) -> RunSummary:
    """One run, the same whenever it is made."""
    luck = random.Random(f"{task.name} {agent} {epoch}")
    reached = agent.skill + luck.gauss(0, 0.25 if agent.tokens else 0.01)
    valid = agent.skill > -1 and luck.random() > (0.15 if agent.skill < 0.1 and agent.tokens else 0)
    failed = agent.tokens > 0 and luck.random() < 0.04
    outcome = _outcome("failed", "model") if failed else _outcome("submitted")
    grade = None if failed else _grade(task, reached if valid else None, steps)
    success = grade is not None and bool(grade.success)
    record = made_record(task, agent, epoch)
    return RunSummary(
        out=out,
        cluster=f"{out}/{_path(record)}",
        result=RunResult(
            path=_path(record),
            record=record,
            outcome=outcome,
            usage=Usage(steps=steps, seconds=95.5 + epoch, input_tokens=agent.tokens),
            grade=grade,
        ),
        points=tuple(_points(task, reached, steps, agent)) if valid and agent.tokens else (),
        validations=(ValidationPoint(step=4, metric="MAE", value=task.score(0.2)),),
        process=_process(agent, success, grade is None, steps, luck),
        efficiency=_efficiency(agent, steps, luck),
    )


def _outcome(kind: OutcomeKind, cause: FailureCause | None = None) -> Outcome:
    detail = "the provider answered 503 to all 8 tries" if cause else ""
    return Outcome(kind=kind, cause=cause, detail=detail)


def made_record(task: MadeTask, agent: MadeAgent, epoch: int) -> RunRecord:
    return RunRecord(
        task_path=task.name,
        epoch=epoch,
        seed=epoch,
        created="2026-11-16T05:35:10+00:00",
        disclosure=Disclosure(
            task=task.name,
            task_version=1,
            metric=task.metric,
            better=task.better,
            data_hash=hashlib.sha256(task.name.encode()).hexdigest(),
            data_verified=True,
            tier="mini",
            draw="public",
            draw_policy="public",
            generator="9e4e" * 16,
            agent=agent.name,
            agent_settings=dict(agent.settings),
            model=agent.model,
            roles={"edit": agent.model, "fast": agent.model} if agent.tokens else {},
            answered_by="model" if agent.tokens else "nobody",
            sandbox="bubblewrap",
            isolation="bubblewrap: separate uid",
            machine_code="none",
            limits={"steps": 50, "time": 18000.0, "tokens": None, "cost": None},
            python_env=hashlib.sha256(b"env").hexdigest(),
            hardware={"cores": 2, "memory_gb": 25.3, "system": "Linux", "speed_probe": 3.17},
            packages={"python": "3.11.7", "mlagentbench": "0.2.0", "inspect_ai": "0.3.285"},
        ),
    )


def _path(record: RunRecord) -> str:
    facts = record.disclosure
    digest = hashlib.sha256(json.dumps(facts.agent_settings).encode()).hexdigest()
    return record.directory(digest).as_posix()


def _grade(task: MadeTask, normalised: float | None, steps: int) -> GradeRecord:
    known: dict[str, Any] = {
        "floor": task.floor,
        "bar": task.score(0.5),
        "reference": task.reference,
        "ceiling": None if task.ceiling is None else task.score(task.ceiling),
        "reference_tolerance": 0.05 * abs(task.reference - task.floor),
        "step": steps,
    }
    if normalised is None:
        reason = "submission.csv not found"
        return GradeRecord(
            **known, valid=False, success=False, paper_success=False, reason=reason, rung="invalid"
        )
    score = task.score(normalised)
    gain = (score - task.floor) / abs(task.floor) * (1 if task.better == "higher" else -1)
    return GradeRecord(
        **known,
        valid=True,
        score=score,
        normalised=normalised,
        success=normalised >= 0.5,
        success_reason="reaches the bar" if normalised >= 0.5 else "below the bar",
        paper_improvement=gain,
        paper_success=gain > 0.1,
        rung=_rung(task, normalised),
        ceiling_share=None if task.ceiling is None else normalised / task.ceiling,
    )


def _rung(task: MadeTask, normalised: float) -> Rung:
    if task.ceiling is not None and normalised >= 1 + 2 / 3 * (task.ceiling - 1):
        return "near the ceiling"
    if normalised >= 0.95:
        return "matches the reference"
    return "success" if normalised >= 0.5 else "above the floor" if normalised > 0.05 else "valid"


def _points(task: MadeTask, reached: float, steps: int, agent: MadeAgent) -> Iterable[ScorePoint]:
    for step in range(3, steps + 1, 2):
        height = reached * (1 - math.exp(-step / 4)) + (0.1 if step == steps - 1 else 0)
        yield ScorePoint(
            step=step,
            seconds=8.0 * step,
            tokens=agent.tokens * step // steps,
            cost=0.11 * step,
            valid=True,
            score=task.score(height),
            normalised=height,
            success=height >= 0.5,
        )


def _process(
    agent: MadeAgent, success: bool, failed: bool, steps: int, luck: random.Random
) -> ProcessReport:
    if not agent.tokens:
        return ProcessReport()
    findings = [
        Finding(
            kind="crash", steps=(4,), form="exit", detail="train.py ended with exit code 1",
            quote="KeyError: 'SalePrice'",
        ),
        Finding(
            kind="edit-never-run", steps=(5,), detail="model.py was written and never executed"
        ),
    ]  # fmt: skip
    if luck.random() < 0.3:
        findings.append(
            Finding(
                kind="boundary", steps=(3,), level="answers", detail="searches for private data",
                quote="find / -name answers.csv",
            )
        )  # fmt: skip
    if luck.random() < 0.4:
        findings.append(
            Finding(
                kind="unsupported-claim", steps=(6,), detail="0.874 was never seen",
                quote="The accuracy improved to 0.874.",
            )
        )  # fmt: skip
    modes: list[ErrorMode] = [
        "hallucination", "debugging", "response format", "small improvement", "unclassified",
    ]  # fmt: skip
    held = luck.sample(modes, 2) if not success and not failed else []
    return ProcessReport(
        findings=tuple(findings),
        claims=ClaimCounts(supported=6, derived=1, unsupported=len(findings) // 4),
        debugging=(Debugging(script="train.py", first_step=4, last_step=6, solved=True),),
        first_valid=Milestone(step=4, seconds=31.0),
        best=Milestone(step=steps - 1, seconds=88.0),
        regression=0.06,
        validation_score=0.71,
        validation_gap=0.012,
        plan_changes=3,
        budget_unused={"steps": 1 - steps / 50, "time": 0.97},
        error_modes=tuple(ShownMode(mode=mode, step=at + 3) for at, mode in enumerate(held)),
    )


def _efficiency(agent: MadeAgent, steps: int, luck: random.Random) -> RunEfficiency:
    tokens = int(agent.tokens * luck.uniform(0.8, 1.2))
    cost = tokens * 5e-6 if tokens else None
    role = RoleUsage(
        role="main", replies=steps, input_tokens=tokens, cached_tokens=tokens // 3,
        output_tokens=tokens // 20, reasoning_tokens=tokens // 40, cost=cost, seconds=44.0,
    )  # fmt: skip
    return RunEfficiency(
        wall_seconds=101.0,
        working_seconds=95.5,
        model_seconds=44.0 if tokens else None,
        script_seconds=40.0,
        harness_seconds=17.0 if tokens else None,
        steps=steps,
        roles=(role,) if tokens else (),
        input_tokens=tokens,
        cached_tokens=tokens // 3,
        output_tokens=tokens // 20,
        reasoning_tokens=tokens // 40,
        cost=cost,
    )


def made_collection(
    directory: Path,
    tasks: Sequence[MadeTask] = TASKS,
    agents: Sequence[MadeAgent] = AGENTS,
    epochs: int = 6,
) -> Collection:
    """Runs of all agents on all tasks; the research agent's first run on each has a journal."""
    runs = []
    for task in tasks:
        for agent in agents:
            for epoch in range(1, epochs + 1):
                runs.append(_collected(directory, made_summary(task, agent, epoch)))
                if agent.name == "research" and epoch == 1 and not agent.settings:
                    write_run(directory, runs[-1].summary)
    unreadable = UnreadableRun(
        out=str(directory),
        path="runs/imdb/mini/react-00000000/tiny/9",
        reason="journal.jsonl, line 7: the journal is damaged: <b>bad</b> JSON",
    )
    return Collection(outs=(directory,), runs=tuple(runs), unreadable=(unreadable,))


def _collected(directory: Path, summary: RunSummary) -> CollectedRun:
    path = summary.result.path
    return CollectedRun(
        name=path.removeprefix("runs/").replace("/", "--"),
        directory=directory / path,
        fingerprint=hashlib.sha256(summary.model_dump_json().encode()).hexdigest(),
        summary=summary,
    )


def made_report(
    directory: Path,
    tasks: Sequence[MadeTask] = TASKS,
    agents: Sequence[MadeAgent] = AGENTS,
    epochs: int = 6,
) -> ReportData:
    """All figures of made runs, computed as for real ones."""
    collection = made_collection(directory, tasks, agents, epochs)
    return report_data(collection, "mlagentbench report results")


PLAN = "1. Read train.py. {0}\n2. Run it as it is. {1}\n3. Gradient boosting on log prices. {2}"
HOSTILE = (
    "<script>document.title = 'owned'</script>\n</details></pre></li>"
    '<img src=x onerror="alert(1)">\n'
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c nul:\x00 [link](javascript:alert(1))\n"
)


class UnsyncedJournal:
    """Lines as a journal has them, written at once: nobody needs them after a crash."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def append(self, line_type: type[Line], clock: float, **fields: Any) -> int:
        """Add a line; gives back its number."""
        number = len(self.lines)
        line = line_type.model_validate(
            {"n": number, "at": 1.8e9 + clock, "clock": clock, **fields}
        )
        self.lines.append(line)
        return number


def write_run(directory: Path, summary: RunSummary, steps: int = 12, long_output: int = 0) -> None:
    """A run directory with a journal of so many steps; `long_output` characters in one of them."""
    run = RunDirectory(directory, directory / summary.result.path)
    run.create()
    run.run_json.write_text(summary.result.record.model_dump_json())
    store = ObjectStore(run.objects)
    journal = UnsyncedJournal()
    snapshot = _snapshot(store, "print('train')\n" * 30)
    facts = summary.result.record.disclosure
    journal.append(
        RunLine, 0.0, task=facts.task, task_version=1, tier="mini", data_hash=facts.data_hash,
        actions=("List Files",), limits=facts.limits, snapshot=snapshot,
    )  # fmt: skip
    for step in range(1, steps + 1):
        snapshot = _write_step(journal, store, step, steps, snapshot, long_output)
    journal.append(
        OutcomeLine, 8.0 * steps, outcome=Outcome(kind="submitted"), snapshot=snapshot,
        usage=Usage(steps=steps),
    )  # fmt: skip
    run.journal.write_bytes(whole_journal(journal.lines, run.journal))
    store.commit()


def _snapshot(store: ObjectStore, program: str) -> str:
    digest = store.put(program.encode())
    table = store.put(b"id,y\n1,2\n")
    entries = [
        Entry("submission.csv", "file", 0o644, table),
        Entry("train.py", "file", 0o644, digest),
    ]
    return put_tree(store, [entry.line() for entry in entries])


def _write_step(
    journal: UnsyncedJournal,
    store: ObjectStore,
    step: int,
    steps: int,
    before: str,
    long_output: int,
) -> str:
    clock = 8.0 * step
    done = ["Done." if step > at else "Not done." for at in (1, 3, 6)]
    reply = (
        f"Reflection: step {step} & what it showed.\nResearch Plan and Status:\n"
        f"{PLAN.format(*done)}\nFact Check: seen.\nThought: go on.\nAction: Execute Script\n"
        'Action Input: {"script_name": "train.py"}'
    )
    number = journal.append(
        ReplyLine, clock, step=step, role="main", prompt_hash="0" * 64, reply=reply,
        input_tokens=900, output_tokens=120, seconds=1.25,
    )  # fmt: skip
    if step == 2:
        journal.append(EventLine, clock, event="unreadable", reply=number, form="json")
    status: ObservationStatus = "ok"
    text, exit_code, snapshot = f"validation MAE={52151.9 - step}", 0, before
    action = Action(name="Execute Script", arguments={"script_name": "train.py"})
    if step == 3:
        text = HOSTILE
        action = Action(name="List Files", arguments={"dir_path": "<script>alert(2)</script>"})
    elif step == 4:
        text, status, exit_code = "Traceback: KeyError: 'SalePrice'", "error", 1
    elif step % 5 == 0:
        program = "print('train')\n" * 12 + f"model = Boosting({step})\n" + "print('end')\n" * 18
        snapshot = _snapshot(store, program)
        action = Action(
            name="Edit Script (AI)",
            arguments={"script_name": "train.py", "edit_instruction": "Use boosting. " * 20},
        )
        text = "train.py was edited"
    stored = None
    if long_output and step == steps - 1:
        stored = store.put(("<b>" + "x" * 76 + "\n").encode() * (long_output // 80))
        text = ""
    journal.append(BeginLine, clock, step=step, action=action)
    journal.append(
        EndLine, clock + 1, step=step, snapshot=snapshot, started=clock, seconds=1.5, text=stored,
        observation=Observation(text=text, status=status, exit_code=exit_code),
    )  # fmt: skip
    return snapshot
