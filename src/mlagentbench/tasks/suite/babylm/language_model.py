"""Loads a submitted model, makes sure that it plays by the rules, and lets it predict text.

Only numbers and a vocabulary come from the submission; all code is that of the installed libraries.
Everything runs on one thread in 32-bit floats, so that the same files always give the same score.
"""

import math
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="0")

import torch
import transformers
from mlagentbench_task import InvalidSubmission
from model_files import (
    ARCHITECTURES,
    CONFIG,
    LEAST_POSITIONS,
    MAX_LAYERS,
    MAX_PARAMETERS,
    MAX_POSITIONS,
    MAX_VOCABULARY,
    TOKENIZER,
    WEIGHTS,
    ModelFiles,
)
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

COMMON_SETTINGS = ("_name_or_path", "architectures", "torch_dtype", "transformers_version")
WINDOW = 512
PROBES = 20
CACHED_TOKENS = 8
"""How many tokens each probe gives the model one by one."""
LEAST_LOG = -20.0
TOLERANCE = 0.02
"""Log-probabilities, where they are above LEAST_LOG, may differ so much by rounding."""
MAX_BATCH_LOGITS = 10_000_000
MAX_BUFFERS = 100_000_000
"""Numbers that a model keeps beside its parameters, such as masks."""
MAX_WORK = 1e13
"""Parameters times tokens: what scoring may cost."""


@dataclass(frozen=True)
class Window:
    """Tokens that the model sees at once; the last `scored` of them are predicted for the score."""

    document: int
    tokens: list[int]
    scored: int


class LanguageModel:
    """A model with its tokenizer, both loaded from files that were found to be harmless."""

    def __init__(self, files: ModelFiles) -> None:
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.model = load_model(files)
        self.tokenizer = load_tokenizer(files)
        self.config = self.model.config
        self.parameters = sum(weight.numel() for weight in self.model.parameters())
        self.window = min(WINDOW, self.config.max_position_embeddings)
        self.start = self.start_token()
        largest = max(self.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if largest >= self.config.vocab_size:
            raise InvalidSubmission(
                f"{TOKENIZER} has a token {largest}, the model knows {self.config.vocab_size}"
            )

    def start_token(self) -> int:
        """The token before each document: the configuration's bos token, else its eos token."""
        for name in ("bos_token_id", "eos_token_id"):
            token = getattr(self.config, name, None)
            if type(token) is int and 0 <= token < self.config.vocab_size:
                return token
        raise InvalidSubmission(
            f"{CONFIG}: neither bos_token_id nor eos_token_id is a token of the model"
        )

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; InvalidSubmission unless they give it back exactly."""
        encoded = []
        for number, text in enumerate(texts):
            try:
                tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
                again = self.tokenizer.encode(text, add_special_tokens=False).ids
                back = self.tokenizer.decode(tokens, skip_special_tokens=False)
            except Exception as error:  # what the library raises is of no narrower kind
                raise InvalidSubmission(
                    f"{TOKENIZER} fails on document {number}: {error}"
                ) from error
            if tokens != again:
                raise InvalidSubmission(f"{TOKENIZER} encodes the same text in different ways")
            if back != text:
                raise InvalidSubmission(
                    f"{TOKENIZER}: decode(encode(text)) differs from the text in document {number}"
                )
            encoded.append(tokens)
        return encoded

    def bits(self, documents: Sequence[Sequence[int]]) -> list[float]:
        """How many bits each document takes: every token is predicted once, from those before."""
        windows = [
            window
            for number, tokens in enumerate(documents)
            for window in cut_windows(number, [self.start, *tokens], self.window)
        ]
        work = self.parameters * sum(len(window.tokens) for window in windows)
        if work > MAX_WORK:
            raise InvalidSubmission(
                f"{self.parameters:,} parameters and {work // self.parameters:,} tokens to score "
                f"make {work:.1e}, more than {MAX_WORK:.0e}; use a smaller model or longer tokens"
            )
        nats = [0.0] * len(documents)
        for batch in batches(windows, self.config.vocab_size):
            longest = max(len(window.tokens) for window in batch)
            padded = [[*w.tokens, *[self.start] * (longest - len(w.tokens))] for w in batch]
            logits = self.logits(torch.tensor(padded))
            for row, window in enumerate(batch):
                first = len(window.tokens) - window.scored
                targets = torch.tensor(window.tokens[first:])
                predictions = logits[row, first - 1 : len(window.tokens) - 1]
                losses = functional.cross_entropy(predictions, targets, reduction="none")
                nats[window.document] += float(losses.double().sum())
        return [value / math.log(2) for value in nats]

    def require_causality(self, documents: Sequence[Sequence[int]]) -> None:
        """Raise InvalidSubmission if a prediction depends on what comes after it.

        The tokens after a random place are replaced, or not there yet, when the model keeps its
        own cache: what it predicts up to that place must stay the same.
        """
        chance = random.Random(0)
        for _ in range(PROBES):
            document = documents[chance.randrange(len(documents))]
            tokens = [self.start, *document][: self.window]
            place = chance.randrange(1, len(tokens)) if len(tokens) > 1 else 1
            other = [chance.randrange(self.config.vocab_size) for _ in tokens[place:]]
            whole = self.predictions(torch.tensor([tokens]))
            changed = self.predictions(torch.tensor([[*tokens[:place], *other]]))
            if not alike(whole[:place], changed[:place]):
                raise InvalidSubmission(
                    "the model is not causal: its predictions change with the tokens after them"
                )
            cached = self.cached_predictions(tokens[: place + CACHED_TOKENS], place)
            if not alike(whole[: len(cached)], cached):
                raise InvalidSubmission(
                    "the model is not causal: with a cache, when the tokens after it are not "
                    "known yet, it predicts something else"
                )

    def predictions(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.logits(tokens)[0].log_softmax(-1)

    def cached_predictions(self, tokens: list[int], place: int) -> torch.Tensor:
        """The first `place` tokens at once, the others one by one."""
        parts = [tokens[:place], *([token] for token in tokens[place:])]
        cache, logits = None, []
        for part in parts:
            output = self.call(torch.tensor([part]), use_cache=True, past_key_values=cache)
            cache = output.past_key_values
            logits.append(output.logits[0])
        return torch.cat(logits).log_softmax(-1)

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = self.call(tokens, use_cache=False).logits
        if logits.shape != (*tokens.shape, self.config.vocab_size):
            raise InvalidSubmission(f"the model gives an array of shape {tuple(logits.shape)}")
        if not torch.isfinite(logits).all():
            raise InvalidSubmission("the model predicts numbers that are not finite")
        return logits

    @torch.no_grad()
    def call(self, tokens: torch.Tensor, **settings: Any) -> Any:
        try:
            return self.model(input_ids=tokens, return_dict=True, **settings)
        except Exception as error:  # a configuration can make it fail in any way
            raise InvalidSubmission(f"the model fails on text: {error!r}") from error


def load_model(files: ModelFiles) -> Any:
    """The model with all of its weights from the file: none missing, none left over."""
    model_class = getattr(transformers, ARCHITECTURES[files.config["model_type"]])
    try:
        require_known_settings(files.config, model_class.config_class)
        config = model_class.config_class.from_dict(files.config)
        config._attn_implementation = "eager"
        config.dtype = torch.float32
        require_moderate(config)
        with torch.device("meta"):
            require_same_shapes(model_class(config), files)
        model = model_class(config).float().eval()
        weights = load_file(files.directory / WEIGHTS)
        model.load_state_dict(weights, strict=False)
    except InvalidSubmission:
        raise
    except Exception as error:  # a configuration can make it fail in any way
        raise InvalidSubmission(f"{CONFIG} and {WEIGHTS} give no model: {error!r}") from error
    for name, weight in model.named_parameters():
        if not torch.isfinite(weight).all():
            raise InvalidSubmission(f"{WEIGHTS}: {name} holds numbers that are not finite")
    return model


def require_known_settings(config: dict[str, Any], config_class: Any) -> None:
    """Only settings that this kind of model has: the library heeds some others, too.

    `is_causal`, for one, lets a decoder see the future.
    """
    known = {*config_class().to_dict(), *COMMON_SETTINGS}
    if unknown := sorted(config.keys() - known):
        raise InvalidSubmission(f"{CONFIG}: {unknown[0][:100]} is not a setting of this model")


def require_moderate(config: Any) -> None:
    """Sizes that building the model can cope with, before it is built."""
    limits = {
        "num_hidden_layers": (1, MAX_LAYERS),
        "max_position_embeddings": (LEAST_POSITIONS, MAX_POSITIONS),
        "vocab_size": (1, MAX_VOCABULARY),
    }
    for name, (least, most) in limits.items():
        value = getattr(config, name, None)
        if type(value) is not int or not least <= value <= most:
            raise InvalidSubmission(
                f"{CONFIG}: {name} is {str(value)[:50]}, expected {least:,} to {most:,}"
            )


def require_same_shapes(model: Any, files: ModelFiles) -> None:
    """The model, built without memory, has the shapes that the weights' file has."""
    parameters = sum(weight.numel() for weight in model.parameters())
    if parameters > MAX_PARAMETERS:
        raise InvalidSubmission(f"{parameters:,} parameters, more than {MAX_PARAMETERS:,}")
    if sum(buffer.numel() for buffer in model.buffers()) > MAX_BUFFERS:
        raise InvalidSubmission(f"{CONFIG}: more than {MAX_BUFFERS:,} numbers beside the weights")
    wanted = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    copies = set(model.all_tied_weights_keys)
    for name, shape in wanted.items():
        if files.shapes.get(name, shape if name in copies else None) != shape:
            found = files.shapes.get(name, "not there")
            raise InvalidSubmission(f"{WEIGHTS}: {name} is {found}, the model needs {shape}")
    if unknown := sorted(files.shapes.keys() - wanted.keys()):
        raise InvalidSubmission(f"{WEIGHTS}: the model has no {unknown[0][:100]}")


def load_tokenizer(files: ModelFiles) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(files.directory / TOKENIZER))
    except Exception as error:  # the library raises nothing narrower
        raise InvalidSubmission(f"{TOKENIZER} cannot be read: {error}") from error


def alike(first: torch.Tensor, second: torch.Tensor) -> bool:
    difference = first.clamp(min=LEAST_LOG) - second.clamp(min=LEAST_LOG)
    return bool(difference.abs().max() <= TOLERANCE)


def cut_windows(document: int, tokens: list[int], size: int) -> Iterator[Window]:
    """Windows half of which overlap: all tokens but the first are scored, each of them once."""
    done = 1
    for start in range(0, max(1, len(tokens) - 1), size // 2):
        part = tokens[start : start + size]
        scored = start + len(part) - done
        if scored > 0:
            yield Window(document, part, scored)
            done += scored
        if done == len(tokens):
            return


def batches(windows: list[Window], vocabulary: int) -> Iterator[list[Window]]:
    """Windows of similar length together, as many as the logits' size allows."""
    batch: list[Window] = []
    for window in sorted(windows, key=lambda window: len(window.tokens)):
        if batch and (len(batch) + 1) * len(window.tokens) * vocabulary > MAX_BATCH_LOGITS:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch
