"""`mlagentbench runs replay`: repeat a run's recorded actions without a model, and compare.

    read_source       the run, its task, the same data, a virtual environment
    open_run          a fresh workspace in a fresh sandbox, with the run's seed and no limits
    Replayer          step by step; questions of actions to models get their recorded answers
    grade_alone       grades the replay at every step at which the run was graded
    Replay            how both compare, in replay.json of the replay's run directory

A replay is in OUT/replays, or where --out says, and replaces an earlier one of the same run. Its
record has the origin "replay": tables and reports do not count it.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from mlagentbench.environment.budget import Budget
from mlagentbench.environment.open_run import open_run
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.launch.out_directory import create_output
from mlagentbench.launch.replay.compare import StepComparer
from mlagentbench.launch.replay.result import (
    Agreement,
    Replay,
    ScoreComparison,
    SetupDifference,
    StepComparison,
)
from mlagentbench.launch.replay.source import RecordedStep, ReplaySource, read_source
from mlagentbench.launch.replay.steps import Replayer, recorded_model
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.machine.slots import slot_for
from mlagentbench.program_services.services import replayed_services
from mlagentbench.rebuild.rebuild_run import grade_alone
from mlagentbench.records import Disclosure, GradeRecord, Json, Outcome, RunRecord
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.hash_chain import chained, first_hash, payloads
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.machine_facts import hardware, packages
from mlagentbench.runs.objects.object_store import JoinedObjects
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import find_run, read_grades
from mlagentbench.tasks.python_env.env import PythonEnv, python_env_with_hash

REPLAYS = "replays"
SHORT_HASH = 12
MEASURED = "speed_probe"
"""A measured time, which always differs."""
UNFINISHED = Outcome(kind="interrupted", detail="the replayed run did not end")

Announce = Callable[[str], None]


def replay_run(path: Path, out: Path | None, tolerance: float, announce: Announce) -> Replay:
    """Replay a run below `out`; a UsageError says what is missing, before anything is written."""
    if not 0 <= tolerance <= 1:
        raise UsageError(f"--tolerance {tolerance:g}: it should be a share, from 0 to 1")
    source = read_source(find_run(path))
    where = source.run.out / REPLAYS if out is None else out
    create_output(where.absolute())
    with _fresh_run(where.absolute(), source) as run:
        replay = asyncio.run(_replay(source, run, tolerance, announce))
        write_atomically(run.replay_json, replay.model_dump_json(indent=2).encode())
    return replay


def _fresh_run(out: Path, source: ReplaySource) -> HeldRun:
    """The replay's directory, held, with its record; an earlier replay of the run is removed."""
    facts = source.record.disclosure
    disclosure = facts.model_copy(
        update={
            "sandbox": source.provider.name,
            "isolation": source.provider.isolation(),
            "tools": source.provider.visible_tools(source.task.spec.resources.tools),
            "image_id": source.python_env.image,
            "limits": BudgetLimits().model_dump(),
            "python_env": source.python_env.hash,
            "python_packages": source.python_env.versions,
            "hardware": hardware(),
            "packages": packages(),
        }
    )
    record = RunRecord(
        task_path=source.record.task_path,
        epoch=source.record.epoch,
        seed=source.record.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        disclosure=disclosure,
        origin="replay",
        replay_of=str(source.run.path),
    )
    # The path differs from that of the run, and from those of other runs' replays.
    name = f"replay of {settings_hash(facts)} in {source.run.path}"
    place = record.directory(hashlib.sha256(name.encode()).hexdigest())
    run = RunDirectory(out, Path(place)).hold()
    try:
        run.clear()
        write_atomically(run.run_json, record.model_dump_json(indent=2).encode())
    except BaseException:
        run.release()
        raise
    return run


async def _replay(
    source: ReplaySource, run: HeldRun, tolerance: float, announce: Announce
) -> Replay:
    facts = source.record.disclosure
    need = source.task.spec.resources.need(facts.gpus)
    async with slot_for(need, f"replay of {facts.task}", announce):
        comparing = StepComparer(tolerance, JoinedObjects(source.run.objects, run.objects))
        steps = await _replay_steps(source, run, comparing, announce)
        return Replay(
            run=str(source.run.path),
            replay=str(run.path),
            task=facts.task,
            agent=facts.agent,
            model=facts.model,
            tolerance=tolerance,
            setup=tuple(setup_differences(facts, source.python_env, source.provider.isolation())),
            steps=tuple(steps),
            scores=tuple(await _scores(source, run, steps, comparing, announce)),
        )


def setup_differences(
    then: Disclosure, python_env: PythonEnv, isolation: str
) -> Iterator[SetupDifference]:
    """What differs here: virtual environment, packages of the harness, hardware, isolation."""
    yield from _of_python_env(then, python_env)
    yield from _of_each("harness", then.packages, packages())
    yield from _of_each("hardware", then.hardware, hardware())
    if then.isolation != isolation:
        yield SetupDifference(what="isolation", then=then.isolation, now=isolation)


def _of_python_env(then: Disclosure, now: PythonEnv) -> Iterator[SetupDifference]:
    """The packages are compared if the run kept them, or its environment exists here."""
    if then.python_env == now.hash:
        return
    yield SetupDifference(
        what="virtual environment", then=then.python_env[:SHORT_HASH], now=now.hash[:SHORT_HASH]
    )
    here = python_env_with_hash(then.python_env)
    versions = then.python_packages or (here.versions if here is not None else {})
    if versions:
        yield from _of_each("package", versions, now.versions)


def _of_each(
    what: str, then: Mapping[str, Json], now: Mapping[str, Json]
) -> Iterator[SetupDifference]:
    for name in sorted((then.keys() | now.keys()) - {MEASURED}):
        old, new = (str(side.get(name, "missing")) for side in (then, now))
        if old != new:
            yield SetupDifference(what=f"{what}: {name}", then=old, now=new)


async def _replay_steps(
    source: ReplaySource, run: HeldRun, comparing: StepComparer, announce: Announce
) -> list[StepComparison]:
    """Replay all steps; the replay is interrupted and resumed where the run was, or branched."""
    feedback, rehearsal = await source.feedback(), await source.rehearsal()
    compared: list[StepComparison] = []
    parts = _between_interruptions(source.steps) or [[]]
    for number, part in enumerate(parts, start=1):
        budget = Budget(BudgetLimits())
        services = replayed_services(
            source.task, source.tool, source.data.private, source.asked, budget
        )
        replayer = Replayer(source, comparing, services)
        setup = RunSetup(
            source.task,
            run,
            source.data,
            source.python_env,
            budget,
            seed=_seed(source, part),
            actions=source.actions(),
            feedback=feedback,
            rehearsal=rehearsal,
            execution=source.record.disclosure.execution,
            services=services,
            models=recorded_model(source, run),
            ask_person=replayer.recorded_answer,
        )
        async with await open_run(setup, source.provider.fresh) as environment:
            for step in part:
                announce(f"step {step.n} of {len(source.steps)}: {step.begin.action.name}")
                compared.append(await replayer.replay(environment, step))
            if number == len(parts):
                submitted = source.submitted_step()
                if submitted is not None and submitted <= len(environment.steps):
                    environment.submit_step(environment.steps[submitted - 1])
                environment.finish(source.outcome.outcome if source.outcome else UNFINISHED)
    return compared


def _seed(source: ReplaySource, part: list[RecordedStep]) -> int:
    """The seed of some steps; an unknown one does not matter, since nothing is executed then."""
    known = part[0].seed if part else None
    return source.record.seed if known is None else known


def _between_interruptions(steps: tuple[RecordedStep, ...]) -> list[list[RecordedStep]]:
    seen = 0

    def part_of(step: RecordedStep) -> tuple[int, int | None]:
        nonlocal seen
        seen += step.resumed
        return seen, step.seed

    return [list(part) for _, part in groupby(steps, key=part_of)]


async def _scores(
    source: ReplaySource,
    run: HeldRun,
    steps: list[StepComparison],
    comparing: StepComparer,
    announce: Announce,
) -> list[ScoreComparison]:
    """Grade the replay at each step at which the run was graded; compare with its latest grades."""
    newest = {grade.step: grade.as_submitted for grade in read_grades(source.run)}
    if source.run.replies.is_file():
        kept = chained(payloads(source.run.replies), first_hash(run.replies))
        write_atomically(run.replies, kept)
    compared = []
    last = len(read_journal(run.journal).steps)
    for number, then in sorted(newest.items()):
        if number > last:
            compared.append(_not_graded(then, "the replay ended before it"))
            continue
        announce(f"grading step {number}")
        try:
            now = await grade_alone(run, number)
        except RunFailed as failure:
            compared.append(_not_graded(then, f"grading failed here: {failure.detail}"))
            continue
        taken_over = any(step.taken_over and step.step <= number for step in steps)
        timed = source.task.spec.kind == "timed"
        compared.append(compare_grades(then, now, comparing, timed=timed, taken_over=taken_over))
    return compared


def _not_graded(then: GradeRecord, reason: str) -> ScoreComparison:
    return ScoreComparison(
        step=then.step, then=then.score, now=None, agreement="not replayable", reason=reason
    )


def compare_grades(
    then: GradeRecord, now: GradeRecord, comparing: StepComparer, *, timed: bool, taken_over: bool
) -> ScoreComparison:
    """How two grades of one step compare; of a timed task only whether both are valid."""
    agreement: Agreement = "same"
    reason = ""
    if taken_over:
        agreement, reason = "not replayable", "files were copied from the record"
    elif then.score is None or now.score is None:
        if then.valid != now.valid:
            agreement = "different"
            reason = f"{then.reason or 'valid'}; now {now.reason or 'valid'}"
    elif timed:
        reason = "measured time: only validity is compared"
    elif not comparing.close(then.score, now.score):
        agreement, reason = "different", f"by {abs(now.score - then.score):.3g}"
    elif then.score != now.score:
        agreement = "within tolerance"
    return ScoreComparison(
        step=then.step, then=then.score, now=now.score, agreement=agreement, reason=reason
    )
