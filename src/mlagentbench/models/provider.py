"""The Inspect provider `mlagentbench`: models that need neither a key nor a network.

| model    | who answers                                          | arguments (`-M`)          |
|----------|------------------------------------------------------|---------------------------|
| reader   | a script that reads papers                           |                           |
| recorded | a file with earlier replies to the same prompts      | `file`, `on_mismatch`     |
| mailbox  | a person or program that writes replies as files     | `dir`, `timeout`          |
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import ValidationError
from rich.markup import escape

from mlagentbench.errors import UsageError
from mlagentbench.inspect_private import prerequisite_error
from mlagentbench.models.builtin_model import (
    CHARACTERS_PER_TOKEN,
    BuiltinModel,
    ModelCall,
    estimated_usage,
)
from mlagentbench.records import Json, reason_of

PROVIDER = "mlagentbench"
MODELS = {
    "reader": "mlagentbench.program_services.paper_reader:Reader",
    "recorded": "mlagentbench.models.recorded_model:Recorded",
    "mailbox": "mlagentbench.models.mailbox_model:Mailbox",
}
"""The class of each model, a BuiltinModel; it is imported when the model is used."""
UNLIMITED_CONNECTIONS = 1000
DEFAULT_CONFIG = GenerateConfig()


def is_builtin(name: str) -> bool:
    """Whether a model's name, PROVIDER/NAME, is that of a built-in model."""
    return name.startswith(f"{PROVIDER}/")


def builtin_model_type(name: str) -> type[BuiltinModel]:
    """The class of `mlagentbench/NAME`; raises UsageError with the known names."""
    place = MODELS.get(name.removeprefix(f"{PROVIDER}/"))
    if place is None:
        known = ", ".join(f"{PROVIDER}/{one}" for one in MODELS)
        raise UsageError(f"unknown model {name}; known: {known}")
    found: type[BuiltinModel] = resolve_name(place)
    return found


def make_builtin_model(name: str, arguments: Mapping[str, Json]) -> BuiltinModel:
    """The model `mlagentbench/NAME` with its arguments; raises UsageError if these are wrong."""
    kind = builtin_model_type(name)
    try:
        return kind.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        argument = first["loc"][0]
        takes = ", ".join(kind.model_fields) or "no arguments"
        if first["type"] == "missing":
            raise UsageError(f"{name} needs -M {argument}=...; it takes: {takes}") from error
        if first["type"] == "extra_forbidden":
            raise UsageError(f"{name} does not take -M {argument}; it takes: {takes}") from error
        raise UsageError(f"{name} -M {argument}={first['input']}: {reason_of(first)}") from error


@modelapi(name=PROVIDER)
class BuiltinModelAPI(ModelAPI):
    """The Inspect provider of all built-in models."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = DEFAULT_CONFIG,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        try:
            self._model = make_builtin_model(f"{PROVIDER}/{model_name}", model_args)
        except UsageError as error:
            raise prerequisite_error(escape(str(error))) from error

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Let the model answer; the output always has usage numbers."""
        call = ModelCall(
            messages=tuple(input), tools=tuple(tools), tool_choice=tool_choice, config=config
        )
        output = await self._model.answer(call)
        output.model = self.model_name
        output.usage = output.usage or estimated_usage(call, output)
        return output

    async def count_text_tokens(self, text: str) -> int:
        """Estimate; Inspect's default downloads a tokenizer."""
        return len(text) // CHARACTERS_PER_TOKEN

    def max_connections(self) -> int:
        """Practically unlimited: no built-in model has a server to protect."""
        return UNLIMITED_CONNECTIONS
