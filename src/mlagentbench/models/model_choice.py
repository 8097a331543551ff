"""The models of a run: their arguments, their roles, and who answers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from mlagentbench.errors import UsageError
from mlagentbench.records import Json, Record

if TYPE_CHECKING:
    from inspect_ai.model import Model

NO_MODEL = "none"
RECORDED = "mlagentbench/recorded"


class ModelChoice(Record):
    """A model and its arguments."""

    name: str
    arguments: dict[str, Json] = {}

    def bound(self) -> "str | Model":
        """The model as Inspect takes it: its name, unless it has arguments."""
        from inspect_ai.model import get_model

        if not self.arguments:
            return self.name
        return get_model(self.name, memoize=False, **self.arguments)


class Answering(Record):
    """Who answers in a run, and the hash of the recording if one answers."""

    answered_by: str
    recording: str | None = None


def parse_arguments(texts: Sequence[str]) -> dict[str, Json]:
    """Parse `-M KEY=VALUE`; values are YAML, as with Inspect."""
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
    """The model of that name, with the arguments it accepts; only built-in models accept any."""
    from mlagentbench.models.provider import builtin_model_type, is_builtin

    taken = builtin_model_type(name).model_fields if is_builtin(name) else {}
    chosen = {key: value for key, value in arguments.items() if key in taken}
    for key, value in chosen.items():
        if taken[key].annotation is Path:  # a worker may be started in another directory
            chosen[key] = str(Path(str(value)).absolute())
    return ModelChoice(name=name, arguments=chosen)


def require_known_arguments(arguments: Mapping[str, Json], names: Iterable[str]) -> None:
    """Raise UsageError for an argument that none of the models accepts."""
    from mlagentbench.models.provider import MODELS, PROVIDER, builtin_model_type

    used = [choose(name, arguments).arguments for name in names] if arguments else []
    for key in arguments:
        if not any(key in taken for taken in used):
            known = "; ".join(
                f"{PROVIDER}/{name}: {', '.join(builtin_model_type(name).model_fields) or 'none'}"
                for name in MODELS
            )
            raise UsageError(f"-M {key}: no chosen model accepts it; arguments are: {known}")


def model_names(roles: Mapping[str, ModelChoice]) -> dict[str, str]:
    return {role: choice.name for role, choice in roles.items()}


def who_answers(main: ModelChoice, roles: Mapping[str, ModelChoice]) -> Answering:
    """Who answered, as results disclose it; a role is named if someone else answers in it."""
    from mlagentbench.models.provider import is_builtin, make_builtin_model

    said: dict[str, str] = {}
    hashes: set[str] = set()
    for role, choice in {"": main, **roles}.items():
        if not is_builtin(choice.name):
            said[role] = "nobody" if choice.name == NO_MODEL else "model"
            continue
        model = make_builtin_model(choice.name, choice.arguments)
        said[role] = model.answered_by
        if model.content_hash is not None:
            hashes.add(model.content_hash)
    others = [f"; {role}: {by}" for role, by in said.items() if by not in (said[""], "model")]
    return Answering(
        answered_by=said[""] + "".join(others), recording="+".join(sorted(hashes)) or None
    )


def shipped_tasks(agent: str) -> list[str]:
    """The tasks with a shipped recording of this agent with default settings."""
    from mlagentbench.models.recording import SHIPPED, read_recordings

    runs = [one.run for one in read_recordings(SHIPPED).runs]
    return [run.task for run in runs if run.agent == agent and not run.agent_settings]


def parse_role(text: str) -> tuple[str, str]:
    """Parse `ROLE=MODEL`."""
    role, sign, model = text.partition("=")
    if not sign or not role or "/" not in model:
        raise UsageError(f"--role {text}: expected ROLE=MODEL, e.g. edit=openai/gpt-6-luna")
    return role, model


def tool_role(texts: Sequence[str]) -> str | None:
    """The model in the role `tool`, the only role that commands without an agent use."""
    roles = dict(map(parse_role, texts))
    unknown = sorted(roles.keys() - {"tool"})
    if unknown:
        raise UsageError(f"--role {unknown[0]}=...: only the role tool is used here")
    return roles.get("tool")
