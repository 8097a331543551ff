"""The models of a run: with which arguments they are made, and who answers in their name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import yaml

from mlagentbench.errors import UsageError
from mlagentbench.records import Json, Record

if TYPE_CHECKING:
    from inspect_ai.model import Model

NO_MODEL = "none"
RECORDED = "mlagentbench/recorded"


class ModelChoice(Record):
    """A model, and the arguments that it is made with."""

    name: str
    arguments: dict[str, Json] = {}

    def bound(self) -> "str | Model":
        """What Inspect takes for it: its name, where that says it all."""
        from inspect_ai.model import get_model

        if not self.arguments:
            return self.name
        return get_model(self.name, memoize=False, **self.arguments)


class Answering(Record):
    """Who answers in a run, and the hash of what is said where a recording answers."""

    answered_by: str
    recording: str | None = None


def parse_arguments(texts: Sequence[str]) -> dict[str, Json]:
    """Read `-M KEY=VALUE`, as Inspect does: values are YAML."""
    arguments: dict[str, Json] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"-M {text}: expected KEY=VALUE, e.g. file=recording.jsonl")
        try:
            arguments[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UsageError(f"-M {text}: the value is not YAML; put it into quotes") from error
    return arguments


def choose(name: str, arguments: Mapping[str, Json]) -> ModelChoice:
    """The model of that name, with those of the arguments that it takes; only ours take any."""
    from mlagentbench.models.provider import is_own, own_model_type

    taken = own_model_type(name).model_fields if is_own(name) else {}
    return ModelChoice(
        name=name, arguments={key: value for key, value in arguments.items() if key in taken}
    )


def require_taken(arguments: Mapping[str, Json], names: Iterable[str]) -> None:
    """A UsageError for an argument that none of the models takes."""
    from mlagentbench.models.provider import MODELS, PROVIDER

    used = [choose(name, arguments).arguments for name in names] if arguments else []
    for key in arguments:
        if not any(key in taken for taken in used):
            known = "; ".join(
                f"{PROVIDER}/{name}: {', '.join(kind.model_fields) or 'none'}"
                for name, kind in MODELS.items()
            )
            raise UsageError(f"-M {key}: none of the models takes it; arguments are: {known}")


def names_of(roles: Mapping[str, ModelChoice]) -> dict[str, str]:
    return {role: choice.name for role, choice in roles.items()}


def who_answers(main: ModelChoice, roles: Mapping[str, ModelChoice]) -> Answering:
    """What results say of who answered; roles are named where they are answered differently."""
    from mlagentbench.models.provider import is_own, own_model

    said: dict[str, str] = {}
    hashes: set[str] = set()
    for role, choice in {"": main, **roles}.items():
        if not is_own(choice.name):
            said[role] = "nobody" if choice.name == NO_MODEL else "model"
            continue
        model = own_model(choice.name, choice.arguments)
        said[role] = model.answered_by
        if model.content_hash is not None:
            hashes.add(model.content_hash)
    others = [f"; {role}: {by}" for role, by in said.items() if by not in (said[""], "model")]
    return Answering(
        answered_by=said[""] + "".join(others), recording="+".join(sorted(hashes)) or None
    )


def shipped_tasks(agent: str) -> list[str]:
    """The tasks on which a run of this agent, with its usual settings, comes with the package."""
    from mlagentbench.models.recording import SHIPPED, read_recordings

    runs = [one.run for one in read_recordings(SHIPPED).runs]
    return [run.task for run in runs if run.agent == agent and not run.agent_settings]


def parse_role(text: str) -> tuple[str, str]:
    """Read `ROLE=MODEL`."""
    role, sign, model = text.partition("=")
    if not sign or not role or "/" not in model:
        raise UsageError(f"--role {text}: expected ROLE=MODEL, e.g. edit=openai/gpt-6-luna")
    return role, model


def tool_role(texts: Sequence[str]) -> str | None:
    """The model in the role `tool`, the only role of commands without an agent."""
    roles = dict(map(parse_role, texts))
    unknown = sorted(roles.keys() - {"tool"})
    if unknown:
        raise UsageError(f"--role {unknown[0]}=...: only the role tool is used here")
    return roles.get("tool")
