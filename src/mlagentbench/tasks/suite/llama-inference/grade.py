"""Checks that every reply is what the model generates, then scores the time by the starter's.

Each generated token is held against the model's own choice after the tokens before it, the
submission's: one difference does not excuse what follows it. The model is computed here, in numpy,
by an implementation of its own.
"""

import ast
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlagentbench_task import (
    Grade,
    InvalidSubmission,
    grade_timings,
    read_timings,
    require_file,
)

FILE = "generate.py"
FUNCTIONS = ("load", "generate")
LEAST_AGREEMENT = 0.99
NEAR_TIE = 1e-3
"""A token whose logit is less than this behind the first choice's is as good."""
MAX_REPLY = 1_000_000


def grade(outputs: Path, private: Path, public: Path) -> Grade:
    check_source(outputs / FILE)
    config = json.loads((public / "model" / "config.json").read_text())
    exchanges = [
        read_exchange(request, outputs / "submission" / request.name, config["vocab_size"])
        for request in sorted((outputs / "requests").glob("*.bin"))
    ]
    timed = [exchange for exchange in exchanges if exchange.name.startswith("timed-")]
    others = [exchange for exchange in exchanges if not exchange.name.startswith("timed-")]
    model = Llama(config, public / "model" / "model.safetensors")
    shares = {
        "timed": agreement(model, timed, "the timed requests"),
        "others": agreement(model, others, "the other requests"),
    }
    scored = grade_timings(read_timings(outputs))
    return Grade(scored.score, {**scored.extra, "agreement": shares})


def check_format(submission: Path, public: Path) -> None:
    check_source(submission)


def check_source(file: Path) -> None:
    """Raise InvalidSubmission unless the file is Python and binds the two functions."""
    require_file(file, max_bytes=1_000_000)
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSubmission(f"{FILE} is not valid Python: {error}") from error
    for name in FUNCTIONS:
        if name not in bound_names(tree):
            raise InvalidSubmission(f"{FILE} defines no {name}(); see the problem")


def bound_names(tree: ast.Module) -> set[str]:
    """The names that importing the file binds, as far as can be seen."""
    names = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name for alias in aliases)
    return names


@dataclass(frozen=True)
class Exchange:
    """A request and its reply: the prompts, and what was generated after them."""

    name: str
    prompts: np.ndarray
    tokens: np.ndarray


def read_exchange(request: Path, reply: Path, vocabulary: int) -> Exchange:
    """Raises InvalidSubmission unless the reply has a known token in every place asked for."""
    asked = json.loads(request.read_text())
    shape = (len(asked["prompts"]), asked["new_tokens"])
    require_file(reply, MAX_REPLY)
    try:
        answered = json.loads(reply.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidSubmission(f"the reply to {request.name} is not JSON") from error
    rows = answered.get("tokens") if isinstance(answered, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidSubmission(f"the reply to {request.name} holds no list of lists of tokens")
    if len(rows) != shape[0]:
        raise InvalidSubmission(f"{request.name}: {len(rows)} sequences, expected {shape[0]}")
    for n, row in enumerate(rows):
        if len(row) != shape[1]:
            raise InvalidSubmission(
                f"{request.name}, sequence {n}: {len(row)} tokens, expected {shape[1]}"
            )
        for token in row:
            if type(token) is not int or not 0 <= token < vocabulary:
                raise InvalidSubmission(
                    f"{request.name}, sequence {n}: {str(token)[:50]!r} is no token"
                )
    return Exchange(request.name, np.array(asked["prompts"]), np.array(rows))


def agreement(model: "Llama", exchanges: Iterable[Exchange], which: str) -> float:
    """The share of tokens that are the model's choice; InvalidSubmission when it is too low."""
    right = {exchange.name: right_tokens(model, exchange) for exchange in exchanges}
    share = float(np.concatenate([marks.ravel() for marks in right.values()]).mean())
    if share < LEAST_AGREEMENT:
        name, marks = next((name, marks) for name, marks in right.items() if not marks.all())
        row, place = (int(index) for index in np.argwhere(~marks)[0])
        raise InvalidSubmission(
            f"{100 * share:.2f} % of the tokens for {which} are what the model generates, "
            f"at least {100 * LEAST_AGREEMENT:g} % are needed; first difference: {name}, "
            f"sequence {row}, token {place}"
        )
    return share


def right_tokens(model: "Llama", exchange: Exchange) -> np.ndarray:
    """Which of the generated tokens are the model's choice after those before them."""
    sequences = np.concatenate([exchange.prompts, exchange.tokens], axis=1)
    logits = model.logits(sequences[:, :-1], last=exchange.tokens.shape[1])
    chosen = np.take_along_axis(logits, exchange.tokens[..., None], axis=2)[..., 0]
    return chosen >= logits.max(axis=2) - NEAR_TIE


class Llama:
    """A Llama model in float32."""

    def __init__(self, config: dict[str, Any], file: Path) -> None:
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.key_heads = config["num_key_value_heads"]
        self.size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon = np.float32(config["rms_norm_eps"])
        self.rope_theta = config.get("rope_theta", 10_000.0)
        self.weights = read_safetensors(file)
        if config.get("tie_word_embeddings"):
            self.weights["lm_head.weight"] = self.weights["model.embed_tokens.weight"]

    def logits(self, tokens: np.ndarray, last: int) -> np.ndarray:
        """The logits that follow each of the last so many places: (batch, last, vocabulary)."""
        hidden = self.weights["model.embed_tokens.weight"][tokens]
        for n in range(self.layers):
            hidden = hidden + self.attention(f"model.layers.{n}", hidden)
            hidden = hidden + self.feed_forward(f"model.layers.{n}", hidden)
        return self.project("lm_head", self.norm("model.norm", hidden[:, -last:]))

    def attention(self, layer: str, hidden: np.ndarray) -> np.ndarray:
        batch, length, _ = hidden.shape
        normed = self.norm(f"{layer}.input_layernorm", hidden)
        # (batch, key heads, query heads to each, length, size)
        queries, keys, values = (
            self.project(f"{layer}.self_attn.{name}_proj", normed)
            .reshape(batch, length, self.key_heads, -1, self.size)
            .transpose(0, 2, 3, 1, 4)
            for name in "qkv"
        )
        scores = self.rotate(queries) @ self.rotate(keys).swapaxes(3, 4)
        scores /= np.float32(np.sqrt(self.size))
        scores += np.triu(np.full((length, length), -np.inf, dtype=np.float32), 1)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        looked_up = (shares @ values).transpose(0, 3, 1, 2, 4).reshape(batch, length, -1)
        return self.project(f"{layer}.self_attn.o_proj", looked_up)

    def feed_forward(self, layer: str, hidden: np.ndarray) -> np.ndarray:
        normed = self.norm(f"{layer}.post_attention_layernorm", hidden)
        gate = self.project(f"{layer}.mlp.gate_proj", normed)
        up = self.project(f"{layer}.mlp.up_proj", normed)
        # gate / 2 * (1 + tanh(gate / 2)) is gate * sigmoid(gate), without overflow.
        return self.project(f"{layer}.mlp.down_proj", gate / 2 * (1 + np.tanh(gate / 2)) * up)

    def rotate(self, vectors: np.ndarray) -> np.ndarray:
        """Rotary position embedding: the two halves of a head are coordinates in a plane."""
        half = self.size // 2
        speeds = self.rope_theta ** -(np.arange(half) / half)
        turns = np.exp(1j * np.outer(np.arange(vectors.shape[-2]), speeds)).astype(np.complex64)
        turned = (vectors[..., :half] + 1j * vectors[..., half:]).astype(np.complex64) * turns
        return np.concatenate([turned.real, turned.imag], axis=-1)

    def norm(self, name: str, hidden: np.ndarray) -> np.ndarray:
        power = np.square(hidden).mean(axis=-1, keepdims=True)
        return hidden / np.sqrt(power + self.epsilon) * self.weights[f"{name}.weight"]

    def project(self, name: str, hidden: np.ndarray) -> np.ndarray:
        return hidden @ self.weights[f"{name}.weight"].T


def read_safetensors(file: Path) -> dict[str, np.ndarray]:
    """The tensors of a file in float32."""
    with file.open("rb") as handle:
        (size,) = struct.unpack("<Q", handle.read(8))
        header = json.loads(handle.read(size))
        header.pop("__metadata__", None)
        tensors = {}
        for name, facts in header.items():
            start, end = facts["data_offsets"]
            handle.seek(8 + size + start)
            tensors[name] = as_float32(handle.read(end - start), facts["dtype"])
            tensors[name] = tensors[name].reshape(facts["shape"])
    return tensors


def as_float32(contents: bytes, kind: str) -> np.ndarray:
    if kind == "BF16":  # the upper half of a float32
        return (np.frombuffer(contents, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(contents, {"F16": "<f2", "F32": "<f4"}[kind]).astype(np.float32)
