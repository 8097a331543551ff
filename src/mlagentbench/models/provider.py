"""The Inspect provider `mlagentbench`: models that need neither a key nor a network."""

from collections.abc import Callable
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from mlagentbench.errors import UsageError
from mlagentbench.models.reader import reply_to

MODELS: dict[str, Callable[[str], str]] = {"reader": reply_to}
CHARACTERS_PER_TOKEN = 4
NOTHING_ASKED = GenerateConfig()


@modelapi(name="mlagentbench")
class OwnModel(ModelAPI):
    """A model that answers by itself; its tokens are counted as a quarter of the characters."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = NOTHING_ASKED,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in MODELS or model_args:
            known = ", ".join(f"mlagentbench/{name}" for name in MODELS)
            raise UsageError(
                f"no model mlagentbench/{model_name}; known, without settings: {known}"
            )
        self._reply = MODELS[model_name]

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer; what is longer than the tokens asked for is cut off."""
        prompt = "\n".join(message.text for message in input)
        whole = self._reply(prompt)
        text = whole[: (config.max_tokens or len(whole)) * CHARACTERS_PER_TOKEN]
        stopped: StopReason = "stop" if text == whole else "max_tokens"
        output = ModelOutput.from_content(self.model_name, text, stop_reason=stopped)
        sizes = [len(prompt) // CHARACTERS_PER_TOKEN, len(text) // CHARACTERS_PER_TOKEN]
        output.usage = ModelUsage(
            input_tokens=sizes[0], output_tokens=sizes[1], total_tokens=sum(sizes)
        )
        return output
