"""`mlagentbench resume`: continue runs from where their journals end.

An interrupted run continues; one that ran out of budget continues when the budget is raised; one
that ended without a grade is graded. Task, agent, models and settings come from run.json. What is
not in there must be passed again: the files of our recorded and mailbox models (-M), and the file
of a custom agent (--agent).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from mlagentbench.agents.custom_agent import load_agent
from mlagentbench.agents.registry import AGENTS, AgentInfo
from mlagentbench.errors import UsageError
from mlagentbench.grading.regrade import score_runs
from mlagentbench.launch.engines.engine import DEFAULT_CHOICE, DEFAULT_ENGINE, EngineChoice
from mlagentbench.launch.out_directory import create_output
from mlagentbench.launch.plans.plan import Plan, RunRequest, plan_files, request_of_cell
from mlagentbench.launch.presets.preset import Protocol
from mlagentbench.launch.request import (
    AgentChoice,
    Cell,
    ReadyTasks,
    RunSettings,
    SuiteRequest,
    read_engine,
    role_choices,
)
from mlagentbench.launch.suite import check_requirements, make_tasks_ready, outcome_of
from mlagentbench.limit_table import LIMITS, BudgetLimits, read_limits
from mlagentbench.models.model_choice import choose, parse_arguments, who_answers
from mlagentbench.models.sharing.outages import forget_outages
from mlagentbench.rebuild.rebuild_run import grade_step
from mlagentbench.records import Json, Record, RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import require_chain
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import (
    SuiteOutcome,
    final_grade,
    find_run,
    read_record,
)
from mlagentbench.runs.resumption import (
    BROKEN_OFF,
    goes_on,
    last_limits,
    require_same,
)
from mlagentbench.tasks.draws import PUBLIC, policy_of
from mlagentbench.terminal import Terminal

Say = Callable[[str], None]


class ResumeOptions(Record):
    """The options of `resume`."""

    limits: BudgetLimits = BudgetLimits()
    """Raised limits; one that is not set stays unchanged."""
    agent: str | None = None
    model_arguments: dict[str, Json] = {}
    prices: Path | None = None
    jobs: int | None = 1
    engine: EngineChoice = DEFAULT_CHOICE

    @classmethod
    def read(
        cls,
        *,
        model_arguments: Sequence[str] = (),
        agent: str | None = None,
        prices: Path | None = None,
        jobs: int | None = 1,
        engine: str = DEFAULT_ENGINE,
        engine_options: str = "",
        **limits: Json,
    ) -> "ResumeOptions":
        """Read the options of `resume` and `runs branch`; a UsageError names a wrong one."""
        return cls(
            limits=read_limits(limits, option_of=lambda name: f"--{name.replace('_', '-')}"),
            agent=agent,
            model_arguments=parse_arguments(model_arguments),
            prices=prices,
            jobs=jobs,
            engine=read_engine(engine, engine_options),
        )


def resume_runs(
    paths: Sequence[Path], how: ResumeOptions, say: Say, console: Terminal
) -> SuiteOutcome:
    """Continue each run to its grade; all are checked before any work."""
    runs = list({run.path: run for run in map(find_run, paths)}.values())
    for run in runs:
        require_agent_run(run, read_record(run))
        require_chain(run.journal, run.appended_files)
    for other in runs[1:]:
        if other.out != runs[0].out:
            raise UsageError(
                f"{runs[0].out} and {other.out} are different --out directories; resume the runs "
                "of each with a separate command"
            )
    return continue_runs(runs, how, say, console)


def continue_runs(
    runs: Sequence[RunDirectory], how: ResumeOptions, say: Say, console: Terminal
) -> SuiteOutcome:
    """Continue or grade runs of one --out directory, and read their results."""
    continued = [run for run in runs if _can_continue(run, how.limits, say)]
    requests = [resume_request(run, how) for run in continued]
    for request in requests:
        check_requirements(request, console)
    out, interrupted = runs[0].out, False
    shared: Path | None = None
    engine = how.engine.make(out, how.jobs, console)
    create_output(out)
    try:
        ready = [make_tasks_ready(request, console) for request in requests]
        for run, request, tasks in zip(continued, requests, ready, strict=True):
            require_same_data(run, request, tasks)
        score_runs([run.path for run in runs if _needs_grade(run)], "last", say, grade_step)
        plan = Plan(requests=tuple(map(_run_request, continued, requests)))
        if plan.requests:
            shared = _shared_with(out, plan)
            forget_outages(shared)
            plan.write(out)
            engine.execute(plan.requests)
    except KeyboardInterrupt:
        interrupted = True
    return outcome_of(out, runs, shared, expected=len(runs), interrupted=interrupted)


def _shared_with(out: Path, plan: Plan) -> Path:
    """What the plan shares with the one that last asked for its runs: money, rates, outages."""
    file, resumed = plan.file(out), {request.run for request in plan.requests}
    for earlier in reversed(plan_files(out)):
        if earlier.hash != file.hash and resumed.intersection(earlier.runs):
            file.share_with(earlier)
            break
    return file.directory


def _run_request(run: RunDirectory, request: SuiteRequest) -> RunRequest:
    [cell] = request.cells
    place, epoch = run.relative.as_posix(), read_record(run).epoch
    return request_of_cell(request, cell, place, epoch, resumes=True)


def _can_continue(run: RunDirectory, raised: BudgetLimits, say: Say) -> bool:
    history = read_journal(run.journal)
    limits = _raised_limits(run, raised)
    if goes_on(history, limits):
        say(f"{run.relative}: continues after step {len(history.steps)}")
        return True
    kind = "" if history.outcome is None else history.outcome.kind
    more = f"; to continue, raise {LIMITS[kind].option}" if kind in LIMITS else ""
    say(f"{run.relative}: has ended ({kind}){more}")
    return False


def require_same_data(run: RunDirectory, request: SuiteRequest, ready: ReadyTasks) -> None:
    """A UsageError when the task or its data have changed since the run began."""
    [cell] = request.cells
    first = read_journal(run.journal).run
    if first is not None:
        [ready_task] = ready.values()
        require_same(run.path, first, request.settings.task(cell.task), ready_task.data)


def _needs_grade(run: RunDirectory) -> bool:
    history = read_journal(run.journal)
    ended = history.outcome is not None and history.outcome.kind not in BROKEN_OFF
    return ended and final_grade(run, len(history.steps)) is None


def resume_request(run: RunDirectory, how: ResumeOptions) -> SuiteRequest:
    """The request that continues this run."""
    record = read_record(run)
    info = agent_of(run, record, how.agent)
    facts = record.disclosure
    cell = Cell(
        task=record.task_path,
        info=info,
        agent=AgentChoice(name=info.name, settings=facts.agent_settings, file=how.agent),
        model=facts.model,
        draw=facts.draw or PUBLIC,
    )
    request = SuiteRequest(
        cells=(cell,),
        settings=settings_of(run, record, how.limits),
        runs=1,
        out=run.out,
        jobs=how.jobs,
        engine=how.engine,
        roles=facts.roles,
        model_arguments=how.model_arguments,
        prices=how.prices,
    )
    for limit, _ in request.settings.budget.items():
        if limit.needs_prices and how.prices is None:
            raise UsageError(
                f"{run.path} has a limit on its {limit.name}: --prices FILE (see docs/models.md)"
            )
    _require_same_recording(run, record, request)
    return request


def require_agent_run(run: RunDirectory, record: RunRecord) -> None:
    """A UsageError for an imported or replayed run."""
    if record.origin != "run":
        raise UsageError(f"{run.path} was imported or replayed; only runs of agents can be resumed")
    if record.branched_from is not None and not run.journal.exists():
        raise UsageError(
            f"{run.path}: the branch has no journal, since branching was interrupted; run the same "
            "branch command again"
        )


def agent_of(run: RunDirectory, record: RunRecord, file: str | None) -> AgentInfo:
    """The run's agent; the file of a custom agent must be passed again."""
    name = record.disclosure.agent
    if file is not None:
        info = load_agent(file)
        if info.name != name:
            raise UsageError(f"--agent {file}: {run.path} is a run of {name}, not of {info.name}")
        return info
    if name not in AGENTS:
        raise UsageError(f"{run.path}: {name} is not a built-in agent; pass --agent FILE.py")
    return AGENTS[name]


def settings_of(run: RunDirectory, record: RunRecord, raised: BudgetLimits) -> RunSettings:
    """The settings that the run was started with, with raised limits."""
    facts = record.disclosure
    limits = _raised_limits(run, raised)
    return RunSettings(
        tier=facts.tier,
        profile=facts.profile,
        draw=PUBLIC if facts.draw_policy is None else policy_of(facts.draw_policy),
        feedback=facts.feedback,
        protocol=_protocol_of(facts.protocol),
        rebuild_draws=facts.rebuild_draws,
        no_execution=not facts.execution,
        sandbox=facts.sandbox,
        image=facts.image,
        gpus=facts.gpus,
        interactive=facts.interactive,
        budget=limits,
    )


def _protocol_of(name: str) -> Protocol:
    """The protocol of a run that can be resumed."""
    protocol: Protocol
    for protocol in get_args(Protocol):
        if protocol == name:
            return protocol
    return "standard"


def _raised_limits(run: RunDirectory, raised: BudgetLimits) -> BudgetLimits:
    """The run's present limits, updated by those that are raised."""
    begun = last_limits(read_journal(run.journal))
    now = begun or BudgetLimits.model_validate(read_record(run).disclosure.limits)
    for limit, value in raised.items():
        before = now.get(limit.name)
        if before is None or value < before:
            had = "none" if before is None else f"{before:g}"
            raise UsageError(
                f"{limit.option} {value:g}: {run.path} has {had}; it can only be raised"
            )
    return now.with_amounts(raised)


def _require_same_recording(run: RunDirectory, record: RunRecord, request: SuiteRequest) -> None:
    [cell] = request.cells
    model = choose(cell.model, request.model_arguments)
    answering = who_answers(model, role_choices(request, cell))
    if answering.recording != record.disclosure.recording:
        raise UsageError(
            f"{run.path} was answered by the recording {(record.disclosure.recording or '')[:12]}, "
            f"this is {(answering.recording or 'none')[:12]}; pass its file: -M file=FILE"
        )
