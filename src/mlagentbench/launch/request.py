"""What was asked for: the options of `run`, read and checked before anything starts."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from mlagentbench.agents.custom_agent import is_file, load_agent
from mlagentbench.agents.registry import AGENTS, AgentInfo, find_agent
from mlagentbench.environment.actions.action_sets import choose_actions
from mlagentbench.errors import UsageError
from mlagentbench.launch.engines.engine import (
    DEFAULT_CHOICE,
    DEFAULT_ENGINE,
    OPTIONS,
    EngineChoice,
    choose_engine,
)
from mlagentbench.launch.presets.preset import (
    PAPER_RUNS,
    PAPER_SECONDS,
    PAPER_STEPS,
    PRESETS,
    Protocol,
)
from mlagentbench.limit_table import LIMITS, BudgetLimits, read_limits
from mlagentbench.machine.allocation import GpusAsked
from mlagentbench.machine.ledger import Need
from mlagentbench.models.model_check import read_prices
from mlagentbench.models.model_choice import (
    NO_MODEL,
    ModelChoice,
    choose,
    parse_arguments,
    parse_role,
)
from mlagentbench.models.sharing.plan_limits import PlanLimits, read_shared_limits
from mlagentbench.program_services.services import with_tool_role
from mlagentbench.rebuild.fresh_data import FRESH_DRAWS
from mlagentbench.records import REBUILD, Json, Pair, Profile, Record, Tier, reason_of
from mlagentbench.sandbox.sandbox_registry import SANDBOXES, default_sandbox
from mlagentbench.statistics.cell_marks import NO_EXECUTION, agent_text, agent_with_model
from mlagentbench.statistics.primary_pair import find_pair, no_such_pair
from mlagentbench.statistics.reference_rows import REFERENCE_AGENTS
from mlagentbench.tasks.draws import PUBLIC, DrawPolicy, draw_of, in_pool, read_policy
from mlagentbench.tasks.make_ready import Ready
from mlagentbench.tasks.python_env.env import NOTHING_ADDED, AddedPackages, PythonEnvs
from mlagentbench.tasks.spec import TaskSpec, profile_of
from mlagentbench.tasks.suites import Variant, chosen_tasks, in_variants
from mlagentbench.tasks.task import HARD, Task, load_task

if TYPE_CHECKING:
    from inspect_ai.model import ModelCost


def _sandbox(name: str) -> str:
    return SANDBOXES.find(name, f"--sandbox {name}").name


def _feedback(value: str) -> str:
    if re.fullmatch(r"none|validation:[1-9]\d*", value) is None:
        raise ValueError("expected none or validation:N, e.g. validation:10")
    return value


def _no_execution(value: bool, info: ValidationInfo) -> bool:
    protocol = info.data.get("protocol", REBUILD)
    if value and protocol != REBUILD:
        raise ValueError(
            f"it cannot be combined with --protocol {protocol}, because what the agent leaves is a "
            f"program that is run afterwards; leave out --protocol, or use --protocol {REBUILD}"
        )
    if value and info.data.get("feedback", "none") != "none":
        raise ValueError(
            f"it cannot be combined with --feedback {info.data['feedback']}, because predictions "
            "need an execution; leave out --feedback"
        )
    return value


def _profile(value: Profile | None, info: ValidationInfo) -> Profile | None:
    return profile_of(info.data["tier"], value) if "tier" in info.data else value


class RunSettings(Record):
    """The settings of a run besides task, agent and model."""

    tier: Tier = "mini"
    profile: Annotated[Profile | None, AfterValidator(_profile), Field(validate_default=True)] = (
        None
    )
    """The hardware profile of the full tier, cpu by default; None in other tiers."""
    draw: DrawPolicy = PUBLIC
    feedback: Annotated[str, AfterValidator(_feedback)] = "none"
    protocol: Protocol = "standard"
    """In the hard tier, "rebuild" unless it is given."""
    rebuild_draws: Annotated[int | None, Field(ge=1)] = None
    """The fresh draws of --protocol rebuild, if not the default number."""
    no_execution: Annotated[bool, Field(strict=True), AfterValidator(_no_execution)] = False
    """Whether agents cannot execute anything: the program that they leave is run afterwards."""
    sandbox: Annotated[str, AfterValidator(_sandbox)] = Field(default_factory=default_sandbox)
    image: str | None = None
    """The base image of the sandbox; None for its default, or if it uses none."""
    budget: BudgetLimits = BudgetLimits()
    """The limits that were asked for; read_settings reads them from max_NAME."""
    gpus: Annotated[int | None, Field(ge=0)] = None
    """GPUs of each run instead of what its task asks for."""
    interactive: bool = False
    primary: Pair | None = None
    """The comparison that the runs are made for."""

    @model_validator(mode="before")
    @classmethod
    def _made_again(cls, values: object) -> object:
        """The protocol is rebuild in the hard tier and without executions, unless it is given."""
        if not isinstance(values, dict):
            return values
        if values.get("tier") == HARD or values.get("no_execution") is True:
            return {"protocol": REBUILD, **values}
        return values

    @model_validator(mode="after")
    def _rebuilds(self) -> "RunSettings":
        if self.rebuild_draws is not None and self.protocol != REBUILD:
            raise ValueError("the number of fresh draws needs --protocol rebuild")
        return self

    @property
    def fresh_draws(self) -> int | None:
        """How many fresh draws submissions are rebuilt on; None if they are not rebuilt."""
        return (self.rebuild_draws or FRESH_DRAWS) if self.protocol == REBUILD else None

    @model_serializer(mode="wrap")
    def _with_sandbox(self, rest: SerializerFunctionWrapHandler) -> dict[str, Json]:
        """What has no fixed default is always written: the sandbox depends on the machine, the
        protocol on the tier."""
        protocol = {"protocol": self.protocol} if self.tier == HARD else {}
        return {**rest(self), "sandbox": self.sandbox, **protocol}

    def limits(self, spec: TaskSpec) -> BudgetLimits:
        """The limits from the settings, else the paper's or the task's."""
        paper = self.protocol == "paper"
        steps = PAPER_STEPS if paper else spec.limits.steps
        seconds = PAPER_SECONDS if paper else spec.limits.time
        return BudgetLimits(steps=steps, time=seconds).with_amounts(self.budget)

    def task(self, name: str) -> Task:
        """A task as such runs have it: of its tier, with the limits of its profile."""
        return load_task(name, self.tier, self.profile)

    def gpus_asked(self, task: Task) -> GpusAsked | None:
        """The GPUs that a run must not go without."""
        return task.gpus_asked(self.gpus)

    def need(self, spec: TaskSpec) -> Need:
        """The cores, memory and GPUs of a run of this task."""
        return spec.resources.need(self.gpus)

    def python_envs(self) -> PythonEnvs:
        """Where the virtual environments of such runs are."""
        return SANDBOXES[self.sandbox].python_envs(self.image)

    def feedback_calls(self) -> int:
        """How often Validate Submission may report the metric."""
        return 0 if self.feedback == "none" else int(self.feedback.removeprefix("validation:"))


def read_settings(values: Mapping[str, Json], option_of: Callable[[str], str]) -> RunSettings:
    """Check settings from the command line; `option_of` gives the option of a setting."""
    asked, limits = dict(values), read_limits(values, option_of)
    if limits != BudgetLimits():
        asked["budget"] = limits
    for limit in LIMITS.values():
        asked.pop(limit.setting, None)
    try:
        settings = RunSettings.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        option = option_of(str(first["loc"][0]) if first["loc"] else "rebuild_draws")
        if first["type"] == "extra_forbidden":
            limit_settings = (limit.setting for limit in LIMITS.values())
            known = ", ".join((*RunSettings.model_fields, *limit_settings))
            raise UsageError(f"{option}: unknown setting; settings are: {known}") from error
        value = first["input"] if first["loc"] else asked.get("rebuild_draws")
        given = option if value is True else f"{option} {value}"
        raise UsageError(f"{given}: {reason_of(first)}") from error
    read_policy(settings.draw, settings.tier, option_of("draw"))
    return settings


def _absolute(file: str | None) -> str | None:
    return None if file is None else str(Path(file).absolute())


class AgentChoice(Record):
    """An agent with its settings, as in `research(retrieval=false)`."""

    name: str
    settings: dict[str, Json] = {}
    file: Annotated[str | None, AfterValidator(_absolute)] = None
    """Where a custom agent is, as /DIR/FILE.py or /DIR/FILE.py:FUNCTION."""

    @property
    def info(self) -> AgentInfo:
        return find_agent(self.name) if self.file is None else load_agent(self.file)

    @property
    def may_call_clients(self) -> bool:
        """Whether it may call a provider's client, or Inspect's bridge, which loads one."""
        return self.file is not None or self.info.package is not None

    @property
    def added_packages(self) -> AddedPackages:
        """What it adds to a task's virtual environment; an agent of Inspect's adds nothing."""
        is_ours = self.file is not None or self.name in AGENTS
        return self.info.added_packages(self.settings) if is_ours else NOTHING_ADDED


def parse_agents(text: str) -> list[AgentChoice]:
    """Read `baseline,research(retrieval=false, steps=3)`."""
    choices = []
    for part in split_list(text):
        match = re.fullmatch(r"([^()]+?)\s*(?:\((.*)\))?", part, flags=re.DOTALL)
        if match is None:
            raise UsageError(f"--agents: {part!r} is not of the form name or name(key=value, ...)")
        settings = dict(
            parse_setting(item, f"--agents: in {part!r},") for item in split_list(match[2] or "")
        )
        choices.append(AgentChoice(name=match[1], settings=settings))
    return choices


def split_list(text: str) -> list[str]:
    """The parts between commas, where a comma within brackets or quotes does not count."""
    parts = re.findall(r"""(?:\([^()]*\)|\[[^\[\]]*\]|"[^"]*"|'[^']*'|[^,])+""", text)
    return [part.strip() for part in parts if part.strip()]


def parse_setting(item: str, where: str) -> tuple[str, Json]:
    """Read `KEY=VALUE`, a setting of an agent; `where` begins the error message."""
    key, sign, value = item.partition("=")
    if not sign or not key.strip().isidentifier():
        raise UsageError(f"{where} {item!r} is not of the form key=value")
    try:
        return key.strip(), json.loads(value)
    except json.JSONDecodeError:
        return key.strip(), value.strip().strip("\"'")


def read_engine(engine: str, options: str) -> EngineChoice:
    """Read --engine and --engine-options: KEY=VALUE,... or a TOML file of them."""
    if options.endswith(".toml"):
        try:
            with Path(options).open("rb") as file:
                return choose_engine(engine, tomllib.load(file))
        except (OSError, tomllib.TOMLDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"{OPTIONS} {options}: {reason}") from error
    given = dict(parse_setting(item, f"{OPTIONS}:") for item in split_list(options))
    return choose_engine(engine, given)


ReadyTasks = dict[tuple[str, AddedPackages, str], Ready]
"""The data and virtual environment of each task, for each set of added packages and each draw."""


class Cell(Record):
    """One agent with one model on one task."""

    task: str
    info: AgentInfo
    agent: AgentChoice
    model: str
    draw: str | None = None
    """The draw of a run that exists already; None if the settings decide."""

    def draw_of(self, settings: RunSettings, epoch: int) -> str:
        """The draw of one run."""
        return draw_of(settings.draw, epoch) if self.draw is None else self.draw

    @property
    def python_needs(self) -> tuple[str, AddedPackages]:
        """The task, and what the agent adds to its virtual environment."""
        return self.task, self.agent.added_packages


class SuiteRequest(Record):
    """The options of `run`, read and checked."""

    cells: tuple[Cell, ...]
    settings: RunSettings
    runs: int
    out: Path
    jobs: int | None
    """The most runs at once; None: as many as there are slots for."""
    engine: EngineChoice = DEFAULT_CHOICE
    roles: dict[str, str] = {}
    model_arguments: dict[str, Json] = {}
    prices: Path | None = None
    max_retries: int | None = None
    """Retries per model call; None for the default of our Inspect tasks."""
    shared: PlanLimits = PlanLimits()
    """What all runs may use together; no part of the plan, so that it can be raised."""

    @classmethod
    def read(cls, *, preset: str | None = None, **options: Any) -> "SuiteRequest":
        """Read the options of `run`; a UsageError names a wrong one."""
        if options.get("primary") == "":
            raise UsageError("--primary: is empty; expected A:B, two of the agents")
        if options.get("draw") == "":
            raise UsageError(
                "--draw: is empty; expected public, secret, a label, or a range such as 100..107"
            )
        given = {
            name: value
            for name, value in options.items()
            if value not in (None, "") or name == "jobs"  # None: as many as there are slots for
        }
        if preset is not None:
            given = PRESETS.find(preset, f"--preset {preset}").filled(given)
        if (pool := given.pop("pool", None)) is not None:
            given["draw"] = in_pool(given.get("draw", PUBLIC), pool, given.get("tier", "mini"))
        return cls._read(**given)

    @classmethod
    def _read(
        cls,
        *,
        tasks: str = "",
        suite: str | None = None,
        variant: Variant = "original",
        agents: str = "",
        models: str = NO_MODEL,
        runs: int | None = None,
        out: Path,
        jobs: int | None = 1,
        engine: str = DEFAULT_ENGINE,
        engine_options: str = "",
        roles: Sequence[str] = (),
        model_arguments: Sequence[str] = (),
        prices: Path | None = None,
        max_retries: int | None = None,
        max_spend: float | None = None,
        max_rate: Sequence[str] = (),
        max_outage: str | None = None,
        primary: str | None = None,
        **settings: Any,
    ) -> "SuiteRequest":
        chosen = read_settings(settings, option_of=lambda name: f"--{name.replace('_', '-')}")
        image = SANDBOXES[chosen.sandbox].base_image(chosen.image)
        chosen = chosen.model_copy(update={"image": image})
        priced = [limit.option for limit, _ in chosen.budget.items() if limit.needs_prices]
        for option in [*priced, *([] if max_spend is None else ["--max-spend"])]:
            if prices is None:
                raise UsageError(
                    f"{option} needs the models' prices: --prices FILE (see docs/models.md)"
                )
        if chosen.interactive and jobs != 1:
            raise UsageError(
                f"--interactive with --jobs {jobs or 'auto'}: a person answers one run at a time"
            )
        choices, model_names = parse_agents(agents), split_list(models)
        if not choices:
            raise UsageError(
                "--agents must name at least one (see: mlagentbench agents list), "
                "or --preset a whole plan"
            )
        names = in_variants(chosen_tasks(split_list(tasks), suite), variant)
        cells = tuple(cells_of(names, choices, model_names))
        _require_tier(cells, chosen.tier)
        return cls(
            cells=cells,
            settings=chosen.model_copy(update={"primary": _primary(primary, cells, chosen)}),
            runs=runs or (PAPER_RUNS if chosen.protocol == "paper" else 1),
            out=out.absolute(),
            jobs=jobs,
            engine=read_engine(engine, engine_options),
            roles=(roles_asked := dict(map(parse_role, roles))),
            model_arguments=parse_arguments(model_arguments),
            prices=prices,
            max_retries=max_retries,
            shared=read_shared_limits(
                max_spend, max_rate, max_outage, models=[*model_names, *roles_asked.values()]
            ),
        )


def _require_tier(cells: Sequence[Cell], tier: Tier) -> None:
    """UsageError if a task or an agent has no such tier."""
    for cell in cells:
        load_task(cell.task, tier)
        if tier not in cell.info.tiers:
            raise UsageError(
                f"agent {cell.info.name} runs in the {' and '.join(cell.info.tiers)} tier only; "
                f"add --tier {cell.info.tiers[0]}, or leave it out"
            )


def cells_of(
    names: Sequence[str],
    choices: Sequence[AgentChoice],
    models: Sequence[str],
    option: str = "--models",
) -> Iterator[Cell]:
    """All agents on all tasks with all models that they use; a UsageError for bad combinations."""
    addresses = list(dict.fromkeys(load_task(name).address for name in names))
    usable = list(dict.fromkeys(model for model in models if model != NO_MODEL))
    chosen: list[AgentChoice] = []
    for agent in map(_identified, choices):
        if agent not in chosen:
            chosen.append(agent)
    if usable and all(agent.info.needs_model is False for agent in chosen):
        raise UsageError(
            f"{option} {','.join(usable)}: none of these agents uses a model (see: mlagentbench "
            "agents list)"
        )
    for agent in chosen:
        info = agent.info
        choose_actions(agent.settings.get("actions") or ())
        if info.needs_model and not usable:
            raise UsageError(
                f"agent {info.name} needs a model: {option} PROVIDER/NAME "
                "(e.g. openai/gpt-6-sol, anthropic/claude-opus-5-5; see docs/models.md)"
            )
        used_models = [NO_MODEL] if info.needs_model is False else usable or [NO_MODEL]
        for address in addresses:
            for model in used_models:
                yield Cell(task=address, info=info, agent=agent, model=model)


def _primary(text: str | None, cells: Sequence[Cell], settings: RunSettings) -> Pair | None:
    """The pair that --primary names; a UsageError if these agents have none such."""
    if text is None:
        return None
    agents = [cell for cell in cells if cell.agent.name not in REFERENCE_AGENTS]
    rows = [(agent_text(one.agent.name, one.agent.settings), one.model) for one in agents]
    pair = find_pair(text, rows)
    if pair is None:
        raise UsageError(no_such_pair(text, rows))
    if settings.no_execution:  # tables have other names for these rows
        names = {
            agent_with_model(*row): agent_with_model(f"{row[0]}, {NO_EXECUTION}", row[1])
            for row in rows
        }
        return names[pair[0]], names[pair[1]]
    return pair


def _identified(choice: AgentChoice) -> AgentChoice:
    """The agent by its name; a custom one is chosen by its file."""
    if not is_file(choice.name):
        return choice.model_copy(update={"name": find_agent(choice.name).name})
    name = load_agent(choice.name).name
    return AgentChoice(name=name, settings=choice.settings, file=choice.name)


def data_needs(request: SuiteRequest) -> list[tuple[str, AddedPackages, str]]:
    """Each task with what its agents add to its virtual environment and with its draws, once."""
    needs = (
        (*cell.python_needs, cell.draw_of(request.settings, epoch))
        for cell in request.cells
        for epoch in range(1, request.runs + 1)
    )
    return list(dict.fromkeys(needs))


def prices_of(request: SuiteRequest) -> "dict[str, ModelCost] | None":
    return None if request.prices is None else read_prices(request.prices, models_of(request))


def models_of(request: SuiteRequest) -> set[str]:
    return {cell.model for cell in request.cells} - {NO_MODEL} | set(request.roles.values())


def roles_of(request: SuiteRequest, cell: Cell) -> dict[str, str]:
    """All roles that a cell's agent and task use; the main model where none was chosen.

    A role that is not bound has no usage in Inspect's log.
    """
    default = dict.fromkeys(cell.info.roles, cell.model)
    task = request.settings.task(cell.task)
    return with_tool_role(task, {**default, **request.roles}, cell.model)


def role_choices(request: SuiteRequest, cell: Cell) -> dict[str, ModelChoice]:
    """The roles of a cell with their models' arguments."""
    roles = roles_of(request, cell).items()
    return {role: choose(name, request.model_arguments) for role, name in roles}
