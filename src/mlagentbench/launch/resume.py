"""`mlagentbench resume`: exactly these runs go on, from where their journals end.

A run that was broken off goes on; one whose budget was used up does when it is raised; one that
ended and only lacks its grade is graded. Task, agent, models and settings are those of run.json.
What is not written there must be named again: files and directories that models of ours answer
from (-M), and the file of an agent of one's own (--agent).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from mlagentbench.agents.custom_agent import load_agent
from mlagentbench.agents.registry import AGENTS, AgentInfo
from mlagentbench.errors import UsageError
from mlagentbench.grading.regrade import score_runs
from mlagentbench.launch.out_directory import own_output
from mlagentbench.launch.request import AgentChoice, RunSettings, read_settings
from mlagentbench.launch.run_sandbox import end_left_sandbox
from mlagentbench.launch.suite import (
    Cell,
    ReadyTasks,
    SuiteRequest,
    evaluate,
    make_tasks_ready,
    outcome_of,
    require_what_is_needed,
    role_choices,
)
from mlagentbench.models.model_choice import choose, parse_arguments, who_answers
from mlagentbench.records import BudgetLimits, Json, Record, RunRecord
from mlagentbench.runs.chain import require_chain
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import (
    SuiteOutcome,
    final_grade,
    find_run,
    read_record,
    read_run,
)
from mlagentbench.runs.resumption import (
    BROKEN_OFF,
    goes_on,
    last_limits,
    require_same,
)
from mlagentbench.tasks.task import load_task

OPTIONS = {"steps": "max_steps", "time": "max_time", "tokens": "max_tokens", "cost": "max_cost"}
"""For each limit, the setting that it comes from."""
Say = Callable[[str], None]


class GoingOn(Record):
    """How runs are to go on, as the command line says it."""

    limits: RunSettings = RunSettings()
    """Of these settings only the limits count; what is not set stays as it was."""
    agent: str | None = None
    model_arguments: dict[str, Json] = {}
    prices: Path | None = None
    jobs: int = 1

    @classmethod
    def read(
        cls,
        *,
        model_arguments: Sequence[str] = (),
        agent: str | None = None,
        prices: Path | None = None,
        jobs: int = 1,
        **limits: Json,
    ) -> "GoingOn":
        """Read what `resume` and `runs branch` share; a UsageError names a wrong option."""
        return cls(
            limits=read_settings(limits, shown_as=_option),
            agent=agent,
            model_arguments=parse_arguments(model_arguments),
            prices=prices,
            jobs=jobs,
        )


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def option_of(limit: str) -> str:
    """The option that sets a limit, as a person types it."""
    return _option(OPTIONS[limit])


def resume_runs(paths: Sequence[Path], how: GoingOn, say: Say, console: Console) -> SuiteOutcome:
    """Let each run go on to its grade; all are checked before any work."""
    runs = list({run.path: run for run in map(find_run, paths)}.values())
    for run in runs:
        require_own(run, read_record(run))
        require_chain(run.journal)
    for other in runs[1:]:
        if other.out != runs[0].out:
            raise UsageError(
                f"{runs[0].out} and {other.out} are different --out directories; resume the runs "
                "of each with a command of its own"
            )
    return go_on(runs, how, say, console)


def go_on(runs: Sequence[RunDirectory], how: GoingOn, say: Say, console: Console) -> SuiteOutcome:
    """Continue or grade runs of one --out directory, and read back what came of them."""
    going_on = [run for run in runs if _is_left_to_do(run, how.limits, say)]
    requests = [continuing_request(run, how) for run in going_on]
    for request in requests:
        require_what_is_needed(request, console)
    out, interrupted = runs[0].out, False
    with own_output(out):
        for run in runs:
            end_left_sandbox(run)
        try:
            ready = [make_tasks_ready(request, console) for request in requests]
            for run, request, its_ready in zip(going_on, requests, ready, strict=True):
                require_same_ground(run, request, its_ready)
            score_runs([run.path for run in runs if _lacks_its_grade(run)], "last", say)
            if requests:
                interrupted = evaluate(requests, ready, console)
        except KeyboardInterrupt:
            interrupted = True
        results = [read_run(run) for run in runs]
        return outcome_of(out, results, expected=len(runs), interrupted=interrupted)


def _is_left_to_do(run: RunDirectory, raised: RunSettings, say: Say) -> bool:
    history = read_journal(run.journal)
    limits = _raised_limits(run, raised)
    if goes_on(history, limits):
        say(f"{run.relative}: goes on after step {len(history.steps)}")
        return True
    kind = "" if history.outcome is None else history.outcome.kind
    more = f"; more is done with {option_of(kind)}" if kind in OPTIONS else ""
    say(f"{run.relative}: has ended ({kind}){more}")
    return False


def require_same_ground(run: RunDirectory, request: SuiteRequest, ready: ReadyTasks) -> None:
    """A UsageError when the task or its data are not those that the run began with."""
    [cell] = request.cells
    first = read_journal(run.journal).run
    if first is not None:
        require_same(run.path, first, load_task(cell.task), ready[cell.python_needs].data)


def _lacks_its_grade(run: RunDirectory) -> bool:
    history = read_journal(run.journal)
    ended = history.outcome is not None and history.outcome.kind not in BROKEN_OFF
    return ended and final_grade(run, len(history.steps)) is None


def continuing_request(run: RunDirectory, how: GoingOn) -> SuiteRequest:
    """What to ask for so that this very run goes on."""
    record = read_record(run)
    info = agent_of(run, record, how.agent)
    facts = record.disclosure
    cell = Cell(
        task=record.task_path,
        info=info,
        agent=AgentChoice(name=info.name, settings=facts.agent_settings),
        model=facts.model,
    )
    request = SuiteRequest(
        cells=(cell,),
        settings=settings_of(run, record, how.limits),
        runs=1,
        out=run.out,
        jobs=how.jobs,
        roles=facts.roles,
        model_arguments=how.model_arguments,
        prices=how.prices,
    )
    if request.settings.max_cost is not None and how.prices is None:
        raise UsageError(f"{run.path} has a limit on its cost: --prices FILE (see docs/models.md)")
    _require_same_recording(run, record, request)
    return request


def require_own(run: RunDirectory, record: RunRecord) -> None:
    """A UsageError for what no agent of this harness did."""
    if record.origin != "run":
        raise UsageError(f"{run.path} was imported or replayed; only runs of agents can go on")
    if record.branched_from is not None and not run.journal.exists():
        raise UsageError(
            f"{run.path}: the branch has no journal, since branching was interrupted; run the same "
            "branch command again"
        )


def agent_of(run: RunDirectory, record: RunRecord, file: str | None) -> AgentInfo:
    """The run's agent; that of a person's own file must be named again."""
    name = record.disclosure.agent
    if file is not None:
        info = load_agent(file)
        if info.name != name:
            raise UsageError(f"--agent {file}: {run.path} is a run of {name}, not of {info.name}")
        return info
    if name not in AGENTS:
        raise UsageError(
            f"{run.path}: its agent {name} is none of ours; name its file: --agent FILE.py"
        )
    return AGENTS[name]


def settings_of(run: RunDirectory, record: RunRecord, raised: RunSettings) -> RunSettings:
    """The settings that the run was started with, and its limits as they are to be from now on."""
    facts = record.disclosure
    limits = _raised_limits(run, raised)
    return RunSettings(
        tier=facts.tier,
        mini_seed="secret" if (facts.mini_seed or "").startswith("secret") else "public",
        feedback=facts.feedback,
        protocol="paper" if facts.protocol == "paper" else "ours",
        sandbox="local" if facts.sandbox == "local" else "bubblewrap",
        interactive=facts.interactive,
        continues=run.relative.as_posix(),
        **{OPTIONS[name]: value for name, value in limits.model_dump().items()},
    )


def _raised_limits(run: RunDirectory, raised: RunSettings) -> BudgetLimits:
    """The limits that the run has now, with those in their place that a person raised."""
    begun = last_limits(read_journal(run.journal))
    now = begun or BudgetLimits.model_validate(read_record(run).disclosure.limits)
    asked = {name: getattr(raised, option) for name, option in OPTIONS.items()}
    given = {name: value for name, value in asked.items() if value is not None}
    for name, value in given.items():
        before = getattr(now, name)
        if before is None or value < before:
            had = "none" if before is None else f"{before:g}"
            raise UsageError(
                f"{option_of(name)} {value:g}: {run.path} has {had}; it can only be raised"
            )
    return now.model_copy(update=given)


def _require_same_recording(run: RunDirectory, record: RunRecord, request: SuiteRequest) -> None:
    [cell] = request.cells
    model = choose(cell.model, request.model_arguments)
    answering = who_answers(model, role_choices(request, cell))
    if answering.recording != record.disclosure.recording:
        raise UsageError(
            f"{run.path} was answered by the recording {(record.disclosure.recording or '')[:12]}, "
            f"this is {(answering.recording or 'none')[:12]}; name its file: -M file=FILE"
        )
