"""One run, from an empty directory to a grade, as Inspect executes it.

start_run         setup: take the sample's request, wait for a slot, find or create the run
                  directory, open the run; a finished run is not run again
(the agent)       acts on `current_environment()`
grade_submission  scorer: close the run, grade the last snapshot
close_run         cleanup: stop whatever is still running
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from mlagentbench.analysis.disclosures import resources_text
from mlagentbench.environment.actions.action import AskPerson
from mlagentbench.environment.budget import Budget, working_clock
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.feedback import hold_out
from mlagentbench.environment.open_run import open_run
from mlagentbench.environment.rehearsal import prepare_rehearsal
from mlagentbench.environment.run_context import RunContext
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.environment.run_slot import require_gpus
from mlagentbench.errors import RunFailed, RunInterrupted, UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.launch.disclose_run import actions_of, disclose_run
from mlagentbench.launch.inspect_metrics import (
    mean,
    stderr,
    success_high,
    success_low,
    success_rate,
)
from mlagentbench.launch.inspect_request import request_of_inspect
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.launch.plans.plan_state import is_finished
from mlagentbench.launch.request import RunSettings
from mlagentbench.launch.workers.batch import Batch, current_batch
from mlagentbench.launch.workers.live_display import LiveProgress
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.model_choice import model_names
from mlagentbench.models.sharing.plan_share import plan_share
from mlagentbench.models.sharing.shared_calls import (
    RunShare,
    join_plan,
    require_not_interrupted,
    use_share,
)
from mlagentbench.numeric.number_format import counted, number_text
from mlagentbench.program_services.services import run_services, tool_model_name
from mlagentbench.rebuild.rebuild_run import grade_step
from mlagentbench.records import REBUILD, GradeRecord, Outcome
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.fresh_key import fresh_key, key_of_run
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.machine_facts import granted_resources, packages
from mlagentbench.runs.record import find_or_create_run, new_record, place_of
from mlagentbench.runs.results import RunResult, read_record, read_run
from mlagentbench.runs.resumption import goes_on
from mlagentbench.sandbox.sandbox_registry import SANDBOXES, kill_leftover_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.unused_draws import note_user
from mlagentbench.tasks.draws import is_keyed, is_public
from mlagentbench.tasks.make_ready import Ready, make_ready
from mlagentbench.tasks.python_env.env import require_python_env
from mlagentbench.untrusted_text import visible, visible_values

RUN_ID = "mlagentbench_run"
"""The id of a sample's request, in its metadata; and in its store, where its run is below OUT."""
OUT_KEY = "mlagentbench_out"


@solver
def start_run(task_path: str, settings: dict[str, Any]) -> Solver:
    """Open the run for its agent; a finished run goes straight to grading.

    A run that another process works on is left alone.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        batch = current_batch()
        request, out = batch.requests.get(state.metadata.get(RUN_ID, "")), batch.out
        if request is None or out is None:
            chosen = RunSettings.model_validate(settings)
            request, out = await request_of_inspect(task_path, chosen, state.epoch)
        batch.shares[state.uuid] = _join_plan(batch)
        with batch.slot_if_opened(state.uuid):
            with _failure_noted(request.directory(out)):
                await _wait_for_slot(request, out, batch, state.uuid)
            context = await _begin(request, out, batch, state)
        state.completed = context is None
        if context is not None:
            state.user_prompt.text = context.environment.problem
        return state

    return solve


async def _begin(
    request: RunRequest, out: Path, batch: Batch, state: TaskState
) -> RunContext | None:
    """Open a sample's run; None if it has ended, or is left to others."""
    if batch.is_stopping() or _has_to_wait(batch) or _is_done_elsewhere(request, batch):
        batch.left_alone[state.uuid] = request.run
        return None
    with _failure_noted(request.directory(out)):
        ready = await _ready(request)
        found = await to_thread.run_sync(_directory, request, out, ready)
        note_user(ready.data, found.path)
    state.store.set(RUN_ID, found.relative.as_posix())
    state.store.set(OUT_KEY, str(found.out))
    held = await _hold(found, batch)
    if held is None:
        batch.left_alone[state.uuid] = request.run
        return None
    context = await _open(request, held, ready, batch, state.uuid)
    if context is not None:
        batch.open[state.uuid] = context
        if batch.worker:
            context.environment.note_worker(batch.worker)
        _note_changes(context.environment)
        _show(context, batch, state.uuid)
    return context


def _join_plan(batch: Batch) -> RunShare | None:
    """Make the sample's model calls those of its plan, if it has one."""
    directory = None if batch.plan is None else batch.plan.directory
    return join_plan(directory, None if batch.live is None else batch.live.say)


def _has_to_wait(batch: Batch) -> bool:
    """Whether the money for all runs of the plan is spent."""
    return batch.plan is not None and plan_share(batch.plan.directory).spent_out() is not None


def _is_done_elsewhere(request: RunRequest, batch: Batch) -> bool:
    """Whether another worker has finished a run since this one chose it."""
    return batch.out is not None and is_finished(request, request.directory(batch.out))


async def _ready(request: RunRequest) -> Ready:
    settings = request.settings
    return await make_ready(
        settings.task(request.task),
        settings.tier,
        request.draw,
        added=request.agent.added_packages,
        call=call_task,
        envs=settings.python_envs(),
    )


def _directory(request: RunRequest, out: Path, ready: Ready) -> RunDirectory:
    """The run's directory, which is created if it is new."""
    task = request.settings.task(request.task)
    if request.resumes:
        _require_same_data(request.directory(out), ready.data)
        return request.directory(out)
    disclosure = disclose_run(
        task, request.settings, ready, request.agent, request.model, request.roles
    )
    place = place_of(new_record(task, request.epoch, disclosure))
    if place != request.run:
        raise RunFailed(
            "harness",
            f"{request.run} was planned, and here it would be {place}: the task, its data or the "
            "recording differ from when it was planned; run the same command again",
        )
    if disclosure.protocol == REBUILD and is_keyed(task, disclosure.tier):
        disclosure = disclosure.model_copy(update={"fresh_key": fresh_key(out).hash})
    run = find_or_create_run(out, task, request.epoch, disclosure)
    _require_same_data(run, ready.data)
    return run


def _require_same_data(run: RunDirectory, data: PreparedData) -> None:
    """RunFailed if a run was begun on other data, which its place does not tell."""
    recorded = read_record(run).disclosure.data_hash
    if recorded == data.hash:
        return
    if data.tier == "full":
        next_step = "choose its data again: mlagentbench tasks prepare TASK --tier full --from DIR"
    else:
        next_step = "its packages or its machine make other data; use another --out"
    raise RunFailed(
        "harness",
        f"{run.path}: was begun on data with hash {recorded[:12]}, and the {data.tier} data here "
        f"(draw {data.draw}) have {data.hash[:12]}; {next_step}",
    )


async def _hold(run: RunDirectory, batch: Batch) -> HeldRun | None:
    """Take a run's lease; None when another process works on the run, which is left alone.

    A worker does not wait here for a silent process: it watches the leases of all its runs.
    """
    stopped, guard = threading.Event(), threading.Lock()
    taken: list[HeldRun] = []

    def pause(seconds: float) -> None:
        if stopped.wait(seconds):
            raise KeyboardInterrupt

    def hold() -> HeldRun:
        held = run.hold(None if batch.live is None else batch.live.say, pause, batch.watch)
        with guard:
            taken.append(held)
            if stopped.is_set():
                held.release()
        return held

    try:
        # A person who stops the command does not wait as long as the thread would.
        return await to_thread.run_sync(hold, abandon_on_cancel=True)
    except RunHeld:
        return None
    except BaseException:
        with guard:
            stopped.set()
            for held in taken:
                held.release()
        raise


async def _wait_for_slot(request: RunRequest, out: Path, batch: Batch, sample: str) -> None:
    """Hold the run's slot from here on, if there is something to run and no other runs it."""
    run = request.directory(out)
    history = read_journal(run.journal)
    free = not batch.is_stopping() and _is_free(run, batch)
    if free and goes_on(history, request.limits(history)):
        await _take_slot(request, run, batch, sample)


def _is_free(run: RunDirectory, batch: Batch) -> bool:
    if batch.watch is None:
        return run.holder is None
    seen = batch.watch.look(run.path)
    return seen.holder is None or seen.is_void


async def _take_slot(request: RunRequest, run: RunDirectory, batch: Batch, sample: str) -> None:
    on_wait = None if batch.live is None else partial(batch.live.wait, run)
    try:
        await batch.slots.take(sample, request.need(), run.shown_name, on_wait)
    finally:
        if batch.live is not None:
            batch.live.leave(run)


async def _open(
    request: RunRequest, run: HeldRun, ready: Ready, batch: Batch, sample: str
) -> RunContext | None:
    """Open a run that is held; one that has ended is released instead."""
    try:
        provider = SANDBOXES[request.settings.sandbox]
        kill_leftover_sandbox(run, provider.name)
        history = read_journal(run.journal)
        limits = request.limits(history)
        if not goes_on(history, limits):
            run.release()
            return None
        with _failure_noted(run):
            if batch.slots.of(sample) is None:  # another process held the run until just now
                await _take_slot(request, run, batch, sample)
            task = request.settings.task(request.task)
            require_gpus(batch.slots.of(sample), request.settings.gpus_asked(task))
            await _measure_draw(request, run, ready, batch)
            setup = await _setup(request, run, ready, limits, batch.live)
            return await open_run(setup, partial(provider.for_run, run))
    except BaseException:
        run.release()
        raise


async def _measure_draw(request: RunRequest, run: HeldRun, ready: Ready, batch: Batch) -> None:
    """Measure the draw of the run, in the run's slot, unless that has been done before.

    The public draw is measured by the task's author, or by `mlagentbench tasks measure`.
    """
    if request.settings.tier == "full" or is_public(request.draw):
        return
    task = request.settings.task(request.task)
    tool = tool_model_name(task, model_names(request.roles), request.model.name)
    python_env = require_python_env(task, request.settings.python_envs())
    live = batch.live
    announce = (lambda _text: None) if live is None else partial(live.wait, run)
    try:
        await ensure_measured(task, ready.data, python_env, tool, announce)
    finally:
        if live is not None:
            live.leave(run)


async def _setup(
    request: RunRequest,
    run: HeldRun,
    ready: Ready,
    limits: BudgetLimits,
    live: LiveProgress | None,
) -> RunSetup:
    task, settings = request.settings.task(request.task), request.settings
    calls = settings.feedback_calls()
    feedback = await hold_out(task, *ready, call_task, calls) if calls else None
    rehearsal = None
    if settings.protocol == REBUILD:
        key = key_of_run(run.out, task, read_record(run).disclosure)
        rehearsal = await prepare_rehearsal(
            task,
            *ready,
            call_task,
            key,
            feedback=bool(calls),
            execution=not settings.no_execution,
        )
        note_user(rehearsal.data or ready.data, run.path)
    tool = tool_model_name(task, model_names(request.roles), request.model.name)
    budget = Budget(limits, clock=working_clock())
    return RunSetup(
        task,
        run,
        *ready,
        budget,
        seed=read_record(run).seed,
        actions=actions_of(request.agent, settings),
        feedback=feedback,
        rehearsal=rehearsal,
        execution=not settings.no_execution,
        services=run_services(task, tool, ready.data.private, run.asked, budget, run.lease),
        ask_person=_person(settings, live),
    )


def _person(settings: RunSettings, live: LiveProgress | None) -> AskPerson | None:
    """How the agent asks a person for help; None if it cannot."""
    if not settings.interactive:
        return None
    if live is None:
        raise UsageError("interactive runs need a terminal; use: mlagentbench run --interactive")
    return live.ask_person


@contextmanager
def _failure_noted(run: RunDirectory) -> Iterator[None]:
    """Write an error to the run's failure.txt, where reports find it, unless it is another's."""
    try:
        yield
    except Exception as error:
        is_anothers = (run.holder is not None) if run.lease is None else run.lease.is_lost
        if is_anothers or isinstance(error, RunInterrupted):
            raise
        with suppress(OSError):  # the disk may be full
            write_atomically(
                run.failure, f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            )
        raise
    if run.lease is not None:
        run.failure.unlink(missing_ok=True)


def _note_changes(environment: Environment) -> None:
    """Note in the journal when a run is resumed with other things than it disclosed."""
    facts = read_record(environment.run).disclosure
    installed = packages()
    changed = [
        f"{name} {installed[name]}"
        for name, version in facts.packages.items()
        if installed.get(name, version) != version
    ]
    if facts.python_env != environment.python_env.hash:
        changed.append(f"virtual environment {environment.python_env.hash[:8]}")
    held = granted_resources()
    if None not in (held, facts.resources) and held != facts.resources:
        changed.append(f"slot: {resources_text(held)}")
    if changed:
        environment.note(f"resumed with another {', '.join(changed)}")


def _show(context: RunContext, batch: Batch, sample: str) -> None:
    """Add the run to the display, if there is one."""
    live = batch.live
    if live is None:
        return
    run = context.run
    live.begin(run, context.environment.budget, batch.slots.of(sample))
    context.environment.on_step.append(lambda step: live.show(run, f"did {step.action.name}"))


@scorer(
    metrics={
        "score": [mean(), stderr()],
        "normalised": [mean(), stderr()],
        "success": [success_rate(), success_low(), success_high()],
    }
)
def grade_submission() -> Scorer:
    """Grade the run; its metadata contain the grade, the usage and the disclosure.

    A run that another process works on gets no score.
    """

    async def score(state: TaskState, target: Target) -> Score | None:  # noqa: ARG001
        batch = current_batch()
        if state.uuid in batch.left_alone:
            return None
        use_share(batch.shares.get(state.uuid))
        context = batch.open.pop(state.uuid, None)
        run = await _hold(_run_of_sample(state), batch) if context is None else context.run
        if run is None:
            return None
        with batch.slots.used_up(state.uuid), run, _failure_noted(run):
            if context is not None:
                await _finish(context)
            if batch.live is not None:
                batch.live.show(run, "grading")
            result = read_run(run)
            grade = result.grade or await grade_step(run, None, _announcer(run, batch.live))
        if batch.live is not None:
            batch.live.end(run, grade_text(grade))
        return _as_score(result, grade)

    return score


def _announcer(run: RunDirectory, live: LiveProgress | None) -> Callable[[str], None]:
    return (lambda _text: None) if live is None else partial(live.tell, run)


def _run_of_sample(state: TaskState) -> RunDirectory:
    """The run that was started for this sample; also works when a log is scored again."""
    place = state.store.get(RUN_ID)
    if place is None:
        raise RunFailed("harness", "the sample has no run: its setup did not finish")
    for out in (Path(state.store.get(OUT_KEY)), Path.cwd(), *Path.cwd().parents):
        if (out / place / "run.json").is_file():
            return RunDirectory(out, Path(place))
    raise UsageError(
        f"{place} is not below {state.store.get(OUT_KEY)}; "
        "change to the directory that contains it now, and score again"
    )


async def _finish(context: RunContext) -> None:
    try:
        require_not_interrupted()
        context.environment.finish(_implied_outcome(context.environment))
    finally:
        await context.close()


def _implied_outcome(environment: Environment) -> Outcome:
    """The outcome of a run whose agent reported none: a foreign agent, or a limit of Inspect."""
    if environment.ended is not None:
        return Outcome(kind=environment.ended.kind, detail=environment.ended.detail)
    return Outcome(kind="submitted", detail="the agent stopped by itself")


def _as_score(result: RunResult, grade: GradeRecord) -> Score:
    nan = float("nan")
    is_decided = grade.success is not None
    return Score(
        value={
            "score": nan if grade.score is None else grade.score,
            "normalised": (grade.normalised or 0.0) if is_decided else nan,
            "success": float(bool(grade.success)) if is_decided else nan,
        },
        answer=None,
        explanation=visible(grade_text(grade)),
        metadata=visible_values(
            {
                "grade": grade.model_dump(mode="json"),
                "outcome": result.outcome.model_dump(mode="json") if result.outcome else None,
                "usage": result.usage.model_dump(mode="json"),
                "disclosure": result.record.disclosure.model_dump(mode="json"),
                "run": result.path,
            }
        ),
    )


def grade_text(grade: GradeRecord) -> str:
    if not grade.valid:
        return f"no score: {grade.reason}"
    success = {True: "success", False: "no success", None: str(grade.success_reason)}[grade.success]
    normalised = "" if grade.normalised is None else f", normalised {grade.normalised:+.2f}"
    if grade.rebuilt is not None:
        normalised += f" on {counted(len(grade.rebuilt.fresh), 'fresh draw')}"
    return f"{number_text(grade.score)}{normalised}, {success}"


async def close_run(state: TaskState) -> None:
    """Close a run that is still open because the agent failed or the user stopped it."""
    batch = current_batch()
    context = batch.open.pop(state.uuid, None)
    if context is None:
        return
    try:
        await context.close()
    finally:
        batch.slots.release(state.uuid)
        context.run.release()
    if batch.live is not None:
        ended = context.environment.outcome
        batch.live.end(context.run, ended.kind if ended else "did not end")
