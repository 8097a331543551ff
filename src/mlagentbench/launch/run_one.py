"""One run, from an empty directory to a grade, as Inspect goes through it.

open_run          setup: find or create the run directory, build the workspace, start the
                  sandbox, publish the Environment; a run that has ended is not run again
(the agent)       acts on `current_environment()`
grade_submission  scorer: stop the sandbox, grade the last snapshot
close_run         cleanup: whatever happened, nothing is left running
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from mlagentbench.environment.actions.action import AskPerson
from mlagentbench.environment.budget import Budget, working_clock
from mlagentbench.environment.environment import Environment, set_current_environment
from mlagentbench.environment.feedback import hold_out
from mlagentbench.environment.services.tool_model import LoggedReplies, load_tool
from mlagentbench.environment.services.tool_services import run_services
from mlagentbench.environment.workspace import sandbox_spec
from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.grading.grade import grade_run
from mlagentbench.launch.identity import Identified, actions_of, identify, run_of_sample
from mlagentbench.launch.inspect_metrics import (
    mean,
    stderr,
    success_high,
    success_low,
    success_rate,
)
from mlagentbench.launch.live import LiveProgress
from mlagentbench.launch.request import RunSettings
from mlagentbench.launch.run_sandbox import end_left_sandbox, run_sandbox
from mlagentbench.records import GradeRecord, Outcome
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.disclosure import packages
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import final_grade, read_record, read_run
from mlagentbench.runs.resumption import goes_on
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.task import load_task


class OpenRun:
    """A run that is under way in this process."""

    def __init__(self, run: RunDirectory, environment: Environment, held: AsyncExitStack) -> None:
        self.run = run
        self.environment = environment
        self._held = held

    async def close(self) -> None:
        """End everything that the run started, and let others at its directory."""
        await self._held.aclose()


_open: dict[str, OpenRun] = {}
"""The runs under way, by their sample's uuid."""


@solver
def open_run(task_path: str, settings: dict[str, Any]) -> Solver:
    """Make everything ready for the agent; a run that has ended goes straight to its grade."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        task = load_task(task_path)
        identified = await identify(task, RunSettings.model_validate(settings), state)
        end_left_sandbox(identified.run)
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
    """Keep the reason where the person who started many runs will find it."""
    try:
        yield
    except Exception as error:
        with suppress(OSError):  # a disk that is full has no room for this, either
            write_atomically(
                run.failure, f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            )
        raise
    run.failure.unlink(missing_ok=True)


async def _open_environment(identified: Identified) -> OpenRun:
    run, task, settings = identified.run, identified.task, identified.settings
    async with AsyncExitStack() as held:
        held.enter_context(run.locked())
        calls = settings.feedback_calls()
        data, python_env = identified.data, identified.python_env
        feedback = await hold_out(task, data, python_env, call_task, calls) if calls else None
        spec = sandbox_spec(task, run, data, python_env, identified.seed, feedback)
        budget = Budget(identified.limits, clock=working_clock())
        services = None
        if identified.tool is not None:
            tool = LoggedReplies(load_tool(identified.tool), run.asked)
            services = run_services(task, data.private, tool, budget)
            held.push_async_callback(services.close)
        sandbox = run_sandbox(settings.sandbox, run, spec, services)
        environment = Environment(
            task, run, sandbox.contract, budget, data, python_env, call_task,
            actions_of(identified.agent, settings), feedback, ask_person=_person(settings),
        )  # fmt: skip
        held.push_async_callback(sandbox.stop)
        held.push_async_callback(environment.close)
        environment.start()
        _note_other_ground(environment)
        await sandbox.start()
        opened = OpenRun(run, environment, held.pop_all())
    _show(opened)
    return opened


def _note_other_ground(environment: Environment) -> None:
    """Keep in the journal that a run goes on with other software than results say of it."""
    facts = read_record(environment.run).disclosure
    installed = packages()
    others = [
        f"{name} {installed[name]}"
        for name, version in facts.packages.items()
        if installed.get(name, version) != version
    ]
    if facts.python_env != environment.python_env.hash:
        others.append(f"python environment {environment.python_env.hash[:8]}")
    if others:
        environment.note(f"goes on with another {', '.join(others)}")


def _person(settings: RunSettings) -> AskPerson | None:
    """Whom the agent can ask for help."""
    if not settings.interactive:
        return None
    if LiveProgress.current is None:
        raise UsageError("nobody can be asked for help here: use mlagentbench run --interactive")
    return LiveProgress.current.ask_person


def _show(opened: OpenRun) -> None:
    """Let a person follow the run, where one is looking."""
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
    """Grade what the run left behind; every figure and the disclosure are in the metadata."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        opened = _open.pop(state.uuid, None)
        run = run_of_sample(state)
        with _failure_noted(run):
            if opened is not None:
                await _bring_to_its_end(opened)
            grade = _standing_grade(run) or await grade_run(run)
        if LiveProgress.current is not None:
            LiveProgress.current.end(run.shown_name, _in_words(grade))
        return _as_score(run, grade)

    return score


async def _bring_to_its_end(opened: OpenRun) -> None:
    try:
        opened.environment.finish(_unsaid_outcome(opened.environment))
    finally:
        await opened.close()


def _unsaid_outcome(environment: Environment) -> Outcome:
    """How a run ended whose agent did not say: one of others', or stopped by Inspect's limits."""
    if environment.ended is not None:
        return Outcome(kind=environment.ended.kind, detail=environment.ended.detail)
    return Outcome(kind="submitted", detail="the agent stopped by itself")


def _standing_grade(run: RunDirectory) -> GradeRecord | None:
    """The grade of a run that was graded before, at its last step."""
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
        explanation=_in_words(grade),
        metadata={
            "grade": grade.model_dump(mode="json"),
            "outcome": result.outcome.model_dump(mode="json") if result.outcome else None,
            "usage": result.usage.model_dump(mode="json"),
            "disclosure": result.record.disclosure.model_dump(mode="json"),
            "run": run.relative.as_posix(),
        },
    )


def _in_words(grade: GradeRecord) -> str:
    if grade.score is None:
        return f"no score: {grade.reason}"
    success = {True: "success", False: "no success", None: str(grade.success_reason)}[grade.success]
    normalised = "" if grade.normalised is None else f", normalised {grade.normalised:+.2f}"
    return f"{grade.score:.5g}{normalised}, {success}"


async def close_run(state: TaskState) -> None:
    """End what is still open because the agent failed, or because a person stopped it."""
    opened = _open.pop(state.uuid, None)
    if opened is None:
        return
    await opened.close()
    if LiveProgress.current is not None:
        ended = opened.environment.outcome
        LiveProgress.current.end(opened.run.shown_name, ended.kind if ended else "did not end")
