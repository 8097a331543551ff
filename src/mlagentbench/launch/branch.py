"""`mlagentbench runs branch`: new runs that share a run's history up to a step, then continue.

A branch is an ordinary run. Its journal begins with the parent's lines up to the end of the step,
chained to the branch's own run.json, which has the hash of the parent's line that ends the step.
Its snapshots are the parent's objects, and the shared part counts towards its usage. It continues
with the same agent, or with another agent, model, role, setting, limit or observation.

The k-th branch of every set from one point has the same seed, which differs from the seeds of the
parent and of the other branches. So sets differ only in what was changed, and can be compared pair
by pair.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from mlagentbench.agents.custom_agent import is_file
from mlagentbench.agents.registry import AGENTS
from mlagentbench.environment.actions.execute import final_answer
from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively, write_atomically
from mlagentbench.launch.disclose_run import actions_of
from mlagentbench.launch.out_directory import create_output
from mlagentbench.launch.plans.plan import disclose_cell
from mlagentbench.launch.request import (
    AgentChoice,
    SuiteRequest,
    cells_of,
    parse_agents,
    parse_setting,
)
from mlagentbench.launch.resume import (
    ResumeOptions,
    Say,
    agent_of,
    continue_runs,
    require_agent_run,
    require_same_data,
    settings_of,
)
from mlagentbench.launch.suite import check_requirements, make_tasks_ready
from mlagentbench.limit_table import LIMITS, BudgetLimits
from mlagentbench.models.model_choice import NO_MODEL, parse_role
from mlagentbench.records import BranchPoint, Disclosure, Json, Record, RunRecord
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.hash_chain import line_hash, require_chain, whole_lines
from mlagentbench.runs.journal import (
    LONG_TEXT,
    AnyLine,
    EndLine,
    EventLine,
    EventName,
    History,
    RunLine,
    read_lines,
    whole_journal,
)
from mlagentbench.runs.objects.object_store import ObjectStore, object_hash
from mlagentbench.runs.objects.snapshot_trees import verify_snapshot
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import SuiteOutcome, find_run, read_record
from mlagentbench.tasks.draws import PUBLIC
from mlagentbench.terminal import Terminal


class Changes(Record):
    """What the branches change, from the options of `branch`."""

    agent: str | None = None
    """An agent with its settings, instead of the parent's."""
    settings: dict[str, Json] = {}
    """Settings of the agent, over those that it has."""
    model: str | None = None
    roles: dict[str, str] = {}
    observation: str | None = None
    """The replacement of the step's observation."""

    @classmethod
    def read(
        cls,
        *,
        agent: str | None,
        settings: Sequence[str],
        model: str | None,
        roles: Sequence[str],
        observation: Path | None,
    ) -> "Changes":
        """Read the options of `runs branch`; a UsageError names the one that is wrong."""
        return cls(
            agent=agent,
            settings=dict(parse_setting(text, "--set") for text in settings),
            model=model,
            roles=dict(map(parse_role, roles)),
            observation=None if observation is None else _text_of(observation),
        )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--edit-observation {file}: cannot be read as text: {error}") from error


def branch_run(
    path: Path,
    step: int,
    runs: int,
    changes: Changes,
    how: ResumeOptions,
    say: Say,
    console: Terminal,
) -> SuiteOutcome:
    """Create the branches and continue them to their grades."""
    parent = find_run(path)
    shared = shared_lines(parent, step)
    request = _request(parent, changes, how)
    _require_budget(parent, step, shared, request)
    check_requirements(request, console)
    create_output(parent.out)
    store = ObjectStore(parent.objects)
    verify_snapshot(store, History(shared, store).last_steps_snapshot)
    facts = _disclosure(parent, request, console)
    maker = _Maker(parent, shared, step, facts, _offered(request), changes.observation)
    branches = [maker.make(number) for number in range(1, runs + 1)]
    named = parse_agents(changes.agent or "")
    agent_file = next((agent.name for agent in named if is_file(agent.name)), None)
    options = how.model_copy(update={"agent": agent_file, "limits": BudgetLimits()})
    return continue_runs(branches, options, say, console)


def shared_lines(parent: RunDirectory, step: int) -> list[AnyLine]:
    """The parent's journal up to the end of a step; a UsageError for one that cannot be shared."""
    require_agent_run(parent, record := read_record(parent))
    lines = read_lines(parent.journal) if parent.journal.exists() else []
    require_chain(parent.journal, parent.appended_files)
    last = len(History(lines).steps)
    if not lines or step > last:
        raise UsageError(f"--step {step}: the last step of {parent.path} is {last}")
    taken = record.branched_from
    if taken is not None and step <= taken.step:
        raise UsageError(
            f"--step {step}: the first {taken.step} steps of {parent.path} come from {taken.run}; "
            "branch that one"
        )
    shared = lines[: 1 + _end_of(lines, step)]
    action = History(shared).steps[-1].action.name if step else ""
    if action == final_answer.name and step == last:
        raise UsageError(f"--step {step} submits, and nothing comes after it; name an earlier step")
    return shared


def _end_of(lines: Sequence[AnyLine], step: int) -> int:
    """The place of the line that ends a step; the run's first line is that of step 0."""
    return next(
        place
        for place, line in enumerate(lines)
        if (isinstance(line, EndLine) and line.step == step)
        or (isinstance(line, RunLine) and step == 0)
    )


def _require_budget(
    parent: RunDirectory, step: int, shared: Sequence[AnyLine], request: SuiteRequest
) -> None:
    """A UsageError when the shared part has used up a limit of the branch."""
    [cell] = request.cells
    limits = request.settings.limits(request.settings.task(cell.task).spec)
    if (ended := limits.used_up(History(shared).usage)) is not None:
        raise UsageError(
            f"--step {step}: the first steps of {parent.path} used all of its limit on "
            f"{ended.kind}; raise it with {LIMITS[ended.kind].option}, or name an earlier step"
        )


def _request(parent: RunDirectory, changes: Changes, how: ResumeOptions) -> SuiteRequest:
    """The request of the branches: the parent's, with the changes."""
    record = read_record(parent)
    facts = record.disclosure
    own_roles = {role: name for role, name in facts.roles.items() if name != facts.model}
    agent = _agent(parent, record, changes)
    info = AGENTS.get(agent.name)
    inherited = NO_MODEL if info is not None and info.needs_model is False else facts.model
    models = [changes.model or inherited]
    [cell] = cells_of([record.task_path], [agent], models, option="--model")
    cell = cell.model_copy(update={"draw": facts.draw or PUBLIC})
    return SuiteRequest(
        cells=(cell,),
        settings=settings_of(parent, record, how.limits),
        runs=1,
        out=parent.out,
        jobs=how.jobs,
        engine=how.engine,
        roles={**own_roles, **changes.roles},
        model_arguments=how.model_arguments,
        prices=how.prices,
    )


def _agent(parent: RunDirectory, record: RunRecord, changes: Changes) -> AgentChoice:
    if changes.agent is None:
        name = agent_of(parent, record, None).name
        settings = record.disclosure.agent_settings
    else:
        choices = parse_agents(changes.agent)
        if len(choices) != 1:
            raise UsageError(f"--agent {changes.agent}: name one agent")
        name, settings = choices[0].name, choices[0].settings
    return AgentChoice(name=name, settings={**settings, **changes.settings})


def _disclosure(parent: RunDirectory, request: SuiteRequest, console: Terminal) -> Disclosure:
    """The disclosure of the branches; they must have the parent's task and data."""
    [cell] = request.cells
    ready = make_tasks_ready(request, console)
    require_same_data(parent, request, ready)
    return disclose_cell(request, cell, *ready.values())


def _offered(request: SuiteRequest) -> tuple[str, ...]:
    """The actions that the branches' agent may do."""
    [cell] = request.cells
    return tuple(spec.name for spec in actions_of(cell.agent, request.settings))


class _Maker:
    """Creates the directories of branches from one point."""

    def __init__(
        self,
        parent: RunDirectory,
        shared: Sequence[AnyLine],
        step: int,
        facts: Disclosure,
        actions: tuple[str, ...],
        observation: str | None,
    ) -> None:
        self._parent = parent
        self._record = read_record(parent)
        self._facts = facts
        self._lines = [_offering(line, actions) for line in shared]
        self._long_text: bytes | None = None
        edited = None if observation is None else self._edit(observation)
        self._point = BranchPoint(
            run=parent.relative.as_posix(),
            step=step,
            parent_hash=line_hash(whole_lines(parent.journal)[len(shared) - 1]),
            edited=edited,
            mixed=edited is not None or (step > 0 and self._is_others()),
        )

    def make(self, number: int) -> RunDirectory:
        """The branch of that number; an existing one stays unchanged."""
        record = RunRecord(
            task_path=self._record.task_path,
            epoch=number,
            seed=branch_seed(self._record.seed, self._point.step, number),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            disclosure=self._facts,
            branched_from=self._point,
        )
        place = record.directory(settings_hash(self._facts, self._point))
        run = RunDirectory(self._parent.out, Path(place))
        if not run.run_json.exists():
            create_exclusively(run.run_json, record.model_dump_json(indent=2).encode())
        with run.hold() as held:
            if not held.journal.exists():
                held.create()
                self._store_edited(held)
                write_atomically(held.journal, whole_journal(self._journal(), held.journal))
        return run

    def _is_others(self) -> bool:
        """Whether the shared steps were made with another agent, other models or other limits."""
        taken = self._record.branched_from
        if taken is not None and taken.mixed:
            return True
        made = {"agent", "agent_settings", "model", "roles", "recording", "limits"}
        then, now = (one.model_dump(include=made) for one in (self._record.disclosure, self._facts))
        return then != now

    def _edit(self, observation: str) -> str:
        """Replace the last observation; returns the new text's hash."""
        end = self._lines[-1]
        if not isinstance(end, EndLine):
            raise UsageError("--edit-observation needs a step: there is none before the first")
        edited = object_hash(observation.encode())
        is_long = len(observation) > LONG_TEXT
        self._long_text = observation.encode() if is_long else None
        text = end.observation.model_copy(update={"text": "" if is_long else observation})
        changed = {"observation": text, "text": edited if is_long else None}
        self._lines[-1] = end.model_copy(update=changed)
        return edited

    def _store_edited(self, branch: HeldRun) -> None:
        """Store a long observation once a run is held, so that no `gc` removes it."""
        if self._long_text is not None:
            with closing(ObjectStore(branch.objects)) as store:
                store.put(self._long_text)
                store.commit()

    def _journal(self) -> list[AnyLine]:
        """The shared lines, then the events of the branch."""
        agents = [(it.agent, it.agent_settings) for it in (self._record.disclosure, self._facts)]
        same = agents[0] == agents[1]
        where = f"{self._point.run}, after step {self._point.step}"
        begins = self._event(0, "branched" if same else "taken over", where, self._facts.limits)
        if self._point.edited is None:
            return [*self._lines, begins]
        edited = self._event(1, "edited", f"the observation of step {self._point.step}")
        return [*self._lines, begins, edited]

    def _event(
        self, place: int, event: EventName, detail: str, limits: dict[str, Json] | None = None
    ) -> EventLine:
        last = self._lines[-1]
        return EventLine(
            n=last.n + 1 + place,
            at=time.time(),
            clock=last.clock,
            event=event,
            detail=detail,
            limits=limits,
        )


def _offering(line: AnyLine, actions: tuple[str, ...]) -> AnyLine:
    """The line; the first one gets the actions of the branch's agent."""
    return line.model_copy(update={"actions": actions}) if isinstance(line, RunLine) else line


def branch_seed(parent: int, step: int, number: int) -> int:
    """The seed of a branch, different from the parent's and the other branches'."""
    digest = hashlib.sha256(f"{parent}/branch/{step}/{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
