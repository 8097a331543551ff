"""One run, from an empty directory to a grade, as Inspect executes it.

open_run          setup: find or create the run directory, build the workspace, start the
                  sandbox, publish the Environment; a finished run is not run again
(the agent)       acts on `current_environment()`
grade_submission  scorer: stop the sandbox, grade the last snapshot
close_run         cleanup: stop whatever is still running
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from mlagentbench.environment.actions.action import AskPerson
from mlagentbench.environment.budget import Budget, working_clock
from mlagentbench.environment.environment import Environment, set_current_environment
from mlagentbench.environment.feedback import hold_out
from mlagentbench.environment.workspace import sandbox_spec
from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.grading.grade import grade_run
from mlagentbench.launch.inspect_metrics import (
    mean,
    stderr,
    success_high,
    success_low,
    success_rate,
)
from mlagentbench.launch.live_display import LiveProgress
from mlagentbench.launch.request import RunSettings
from mlagentbench.launch.run_identity import IdentifiedRun, actions_of, identify, run_of_sample
from mlagentbench.launch.run_sandbox import kill_leftover_sandbox, run_sandbox
from mlagentbench.program_services.services import run_services, serving
from mlagentbench.records import GradeRecord, Outcome
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.machine_facts import packages
from mlagentbench.runs.results import final_grade, read_record, read_run
from mlagentbench.runs.resumption import goes_on
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.task import load_task


@dataclass(frozen=True)
class OpenRun:
    """A run in progress in this process."""

    run: RunDirectory
    environment: Environment
    resources: AsyncExitStack
    """Everything that the run started, and the lock on its directory."""

    async def close(self) -> None:
        await self.resources.aclose()


_open: dict[str, OpenRun] = {}
"""The runs in progress, by their sample's uuid."""


@solver
def open_run(task_path: str, settings: dict[str, Any]) -> Solver:
    """Set up the run for its agent; a finished run goes straight to grading."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        task = load_task(task_path)
        identified = await identify(task, RunSettings.model_validate(settings), state)
        kill_leftover_sandbox(identified.run)
        if not goes_on(read_journal(identified.run.journal), identified.limits):
            state.completed = True
            return state
        with _failure_noted(identified.run):
            opened = await _open_environment(identified)
        _open[state.uuid] = opened
        set_current_environment(opened.environment)
        state.user_prompt.text = opened.environment.problem
        return state

    return solve


@contextmanager
def _failure_noted(run: RunDirectory) -> Iterator[None]:
    """Write an error to the run's failure.txt, where reports find it."""
    try:
        yield
    except Exception as error:
        with suppress(OSError):  # the disk may be full
            write_atomically(
                run.failure, f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            )
        raise
    run.failure.unlink(missing_ok=True)


async def _open_environment(identified: IdentifiedRun) -> OpenRun:
    run, task, settings = identified.run, identified.task, identified.settings
    data, python_env = identified.ready
    async with AsyncExitStack() as resources:
        resources.enter_context(run.locked())
        calls = settings.feedback_calls()
        feedback = await hold_out(task, data, python_env, call_task, calls) if calls else None
        spec = sandbox_spec(task, run, data, python_env, read_record(run).seed, feedback)
        budget = Budget(identified.limits, clock=working_clock())
        services = run_services(task, identified.tool, data.private, run.asked, budget)
        await resources.enter_async_context(serving(services))
        sandbox = run_sandbox(settings.sandbox, run, spec, services)
        environment = Environment(
            task,
            run,
            sandbox.contract,
            budget,
            data,
            python_env,
            call_task,
            actions_of(identified.agent, settings),
            feedback,
            ask_person=_person(settings),
        )
        resources.push_async_callback(sandbox.stop)
        resources.push_async_callback(environment.close)
        environment.start()
        _note_changed_software(environment)
        await sandbox.start()
        opened = OpenRun(run, environment, resources.pop_all())
    _show_progress(opened)
    return opened


def _note_changed_software(environment: Environment) -> None:
    """Note in the journal when a run is resumed with other software than it disclosed."""
    facts = read_record(environment.run).disclosure
    installed = packages()
    changed = [
        f"{name} {installed[name]}"
        for name, version in facts.packages.items()
        if installed.get(name, version) != version
    ]
    if facts.python_env != environment.python_env.hash:
        changed.append(f"virtual environment {environment.python_env.hash[:8]}")
    if changed:
        environment.note(f"resumed with another {', '.join(changed)}")


def _person(settings: RunSettings) -> AskPerson | None:
    """How the agent asks a person for help; None if it cannot."""
    if not settings.interactive:
        return None
    if LiveProgress.current is None:
        raise UsageError("interactive runs need a terminal; use: mlagentbench run --interactive")
    return LiveProgress.current.ask_person


def _show_progress(opened: OpenRun) -> None:
    """Add the run to the live progress display, if there is one."""
    live = LiveProgress.current
    if live is None:
        return
    name = opened.run.shown_name
    doing = live.begin(name, opened.environment.budget)
    opened.environment.on_step.append(lambda step: doing(f"did {step.action.name}"))
    doing("running")


@scorer(
    metrics={
        "score": [mean(), stderr()],
        "normalised": [mean(), stderr()],
        "success": [success_rate(), success_low(), success_high()],
    }
)
def grade_submission() -> Scorer:
    """Grade the run; its metadata contain the grade, the usage and the disclosure."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        opened = _open.pop(state.uuid, None)
        run = run_of_sample(state)
        with _failure_noted(run):
            if opened is not None:
                await _finish(opened)
            grade = _earlier_grade(run) or await grade_run(run)
        if LiveProgress.current is not None:
            LiveProgress.current.end(run.shown_name, _grade_text(grade))
        return _as_score(run, grade)

    return score


async def _finish(opened: OpenRun) -> None:
    try:
        opened.environment.finish(_implied_outcome(opened.environment))
    finally:
        await opened.close()


def _implied_outcome(environment: Environment) -> Outcome:
    """The outcome of a run whose agent reported none: a foreign agent, or a limit of Inspect."""
    if environment.ended is not None:
        return Outcome(kind=environment.ended.kind, detail=environment.ended.detail)
    return Outcome(kind="submitted", detail="the agent stopped by itself")


def _earlier_grade(run: RunDirectory) -> GradeRecord | None:
    """The grade of the last step, if the run was graded before."""
    return final_grade(run, len(read_journal(run.journal).steps))


def _as_score(run: RunDirectory, grade: GradeRecord) -> Score:
    nan = float("nan")
    is_decided = grade.success is not None
    result = read_run(run)
    return Score(
        value={
            "score": nan if grade.score is None else grade.score,
            "normalised": (grade.normalised or 0.0) if is_decided else nan,
            "success": float(bool(grade.success)) if is_decided else nan,
        },
        answer=None,
        explanation=_grade_text(grade),
        metadata={
            "grade": grade.model_dump(mode="json"),
            "outcome": result.outcome.model_dump(mode="json") if result.outcome else None,
            "usage": result.usage.model_dump(mode="json"),
            "disclosure": result.record.disclosure.model_dump(mode="json"),
            "run": run.relative.as_posix(),
        },
    )


def _grade_text(grade: GradeRecord) -> str:
    if grade.score is None:
        return f"no score: {grade.reason}"
    success = {True: "success", False: "no success", None: str(grade.success_reason)}[grade.success]
    normalised = "" if grade.normalised is None else f", normalised {grade.normalised:+.2f}"
    return f"{grade.score:.5g}{normalised}, {success}"


async def close_run(state: TaskState) -> None:
    """Close a run that is still open because the agent failed or the user stopped it."""
    opened = _open.pop(state.uuid, None)
    if opened is None:
        return
    await opened.close()
    if LiveProgress.current is not None:
        ended = opened.environment.outcome
        LiveProgress.current.end(opened.run.shown_name, ended.kind if ended else "did not end")
