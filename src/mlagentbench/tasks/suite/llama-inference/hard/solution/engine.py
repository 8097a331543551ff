# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Greedy generation from a table of next tokens.

Heads that look at one place make the next token a function of a few earlier tokens. Few tokens can
be generated, so this function has few arguments, and load computes all its values. The model runs
only for the first tokens of a reply, which depend on the prompt, and for short prompts.
"""

import json
import math
from pathlib import Path

import numpy as np
import torch
from findings import find
from safetensors.torch import load_file
from torch.nn.functional import linear, scaled_dot_product_attention, silu

IGNORED: tuple[str, ...] = ()
"""Findings that are not used."""
EARLIEST_PLACE = 16
"""Before it, what a head looks for may not be there yet."""
MOST_ENTRIES = 150_000
ROWS = 2048
"""So many entries of the table are computed at once."""


class Neurons:
    """The neurons of a layer that fire at all."""

    def __init__(self, weights: dict[str, torch.Tensor], asleep: list[int]) -> None:
        norm = weights["post_attention_layernorm.weight"]
        gate, up, down = (weights[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
        awake = torch.ones(len(gate), dtype=torch.bool)
        awake[asleep] = False
        self.count = int(awake.sum())
        self.inward = (torch.cat([gate[awake], up[awake]]) * norm).T.contiguous()
        self.outward = down[:, awake].T.contiguous()

    def __call__(self, hidden: torch.Tensor, normed: torch.Tensor) -> torch.Tensor:
        """Hidden states, (places, size), with what the neurons add."""
        read = normed @ self.inward
        fired = silu(read[:, : self.count]).mul_(read[:, self.count :])
        return torch.addmm(hidden, fired, self.outward)


class Model:
    """The parts of a checkpoint that are used: as a model, as a function of a few tokens."""

    def __init__(self, directory: Path) -> None:
        self.config = config = json.loads((directory / "config.json").read_text())
        found = without(find(directory), config, IGNORED)
        stored = load_file(directory / "model.safetensors")
        weights = {name: values.float() for name, values in stored.items()}
        self.epsilon = config["rms_norm_eps"]
        self.heads, self.groups = config["num_attention_heads"], config["num_key_value_heads"]
        self.size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.embedding = weights["model.embed_tokens.weight"]
        self.generated = torch.tensor(found["generated"])
        head = weights["lm_head.weight"][self.generated] * weights["model.norm.weight"]
        self.head = head.T.contiguous()
        layers = [
            {
                name.removeprefix(f"model.layers.{n}."): values
                for name, values in weights.items()
                if name.startswith(f"model.layers.{n}.")
            }
            for n in range(config["num_hidden_layers"])
        ]
        self.neurons = [Neurons(*pair) for pair in zip(layers, found["asleep"], strict=True)]
        self.attention = [self.join(layer) for layer in layers]
        self.taps: list[int] = []
        self.table = None
        if not any(head["kind"] == "any" for layer in found["heads"] for head in layer):
            self.follow_heads(layers, found["heads"])
            if "table" not in IGNORED:
                self.make_table()

    def norm(self, hidden: torch.Tensor) -> torch.Tensor:
        power = hidden.square().mean(dim=-1, keepdim=True)
        return hidden * power.add_(self.epsilon).rsqrt_()

    def choose(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.generated[(self.norm(hidden) @ self.head).argmax(dim=-1)]

    # All places, as any model would be run.

    def join(self, layer: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        names = [f"self_attn.{name}_proj.weight" for name in "qkv"]
        qkv = torch.cat([layer[name] for name in names]) * layer["input_layernorm.weight"]
        return {"qkv": qkv, "o": layer["self_attn.o_proj.weight"]}

    def make_cache(self, batch: int, length: int) -> torch.Tensor:
        half = self.size // 2
        speeds = self.config.get("rope_theta", 10_000.0) ** -(torch.arange(half) / half)
        angles = torch.arange(length)[:, None] * speeds
        self.cos = torch.cat([angles.cos(), angles.cos()], dim=1)
        self.sin = torch.cat([-angles.sin(), angles.sin()], dim=1)
        return torch.empty(len(self.attention), 2, batch, self.groups, length, self.size)

    def full(self, tokens: torch.Tensor, seen: int, cache: torch.Tensor) -> torch.Tensor:
        """The hidden states at the last of more places, `seen` ones being in the cache."""
        batch, length = tokens.shape
        hidden = self.embedding[tokens]
        places = slice(seen, seen + length)
        for n, (layer, held) in enumerate(zip(self.attention, cache, strict=True)):
            together = linear(self.norm(hidden), layer["qkv"])
            together = together.view(batch, length, -1, self.size).transpose(1, 2)
            turned = together[:, : self.heads + self.groups]
            exchanged = turned.roll(self.size // 2, dims=-1)
            turned = turned * self.cos[places] + exchanged * self.sin[places]
            held[0, :, :, places] = turned[:, self.heads :]
            held[1, :, :, places] = together[:, self.heads + self.groups :]
            queries = turned[:, : self.heads]
            if n == len(self.attention) - 1:
                queries, hidden = queries[:, :, -1:], hidden[:, -1:]
            keys, values = held[:, :, :, : seen + length]
            is_causal = queries.shape[2] > 1
            looked_up = scaled_dot_product_attention(
                queries, keys, values, is_causal=is_causal, enable_gqa=True
            )
            joined = looked_up.transpose(1, 2).reshape(batch, hidden.shape[1], -1)
            hidden = (hidden + linear(joined, layer["o"])).flatten(0, 1)
            hidden = self.neurons[n](hidden, self.norm(hidden)).view(batch, -1, hidden.shape[-1])
        return hidden[:, -1]

    def generate_fully(self, prompts: torch.Tensor, new_tokens: int) -> list[list[int]]:
        batch, length = prompts.shape
        cache = self.make_cache(batch, length + new_tokens)
        generated = [self.choose(self.full(prompts, 0, cache))]
        for n in range(1, new_tokens):
            hidden = self.full(generated[-1][:, None], length + n - 1, cache)
            generated.append(self.choose(hidden))
        return torch.stack(generated, dim=1).tolist()

    # Only the tokens that matter.

    def follow_heads(self, layers: list[dict[str, torch.Tensor]], heads: list[list[dict]]) -> None:
        """Find how far back the tokens that matter are, and what each layer does with them."""
        wanted = [0]
        self.steps = []
        starts = self.seen_at_start(heads)
        for layer, kinds, start in reversed(list(zip(layers, heads, starts, strict=True))):
            lags = self.lag_matrices(layer, kinds)
            given = sorted({tap + lag for tap in wanted for lag in (0, *lags)})
            sources = [
                ([given.index(tap + lag) for tap in wanted], matrix) for lag, matrix in lags.items()
            ]
            self.steps.append(([given.index(tap) for tap in wanted], sources, start))
            wanted = given
        self.steps.reverse()
        self.taps = wanted

    def lag_matrices(
        self, layer: dict[str, torch.Tensor], kinds: list[dict]
    ) -> dict[int, torch.Tensor]:
        """What heads make of the place so far back, values and outputs in one matrix."""
        values = layer["self_attn.v_proj.weight"] * layer["input_layernorm.weight"]
        values = values.view(self.groups, self.size, -1)
        outward = layer["self_attn.o_proj.weight"].T.reshape(self.heads, self.size, -1)
        lags: dict[int, torch.Tensor] = {}
        for n, head in enumerate(kinds):
            if head["kind"] == "offset":
                matrix = values[n * self.groups // self.heads].T @ outward[n]
                lags[head["back"]] = lags.get(head["back"], 0) + matrix
        return lags

    def seen_at_start(self, heads: list[list[dict]]) -> list[torch.Tensor]:
        """What heads that look at the start add: always the same."""
        cache = self.make_cache(1, 1)
        self.full(torch.tensor([[self.config["bos_token_id"]]]), 0, cache)
        added = []
        for kinds, held, layer in zip(heads, cache, self.attention, strict=True):
            seen = torch.zeros(self.heads, self.size)
            for n, head in enumerate(kinds):
                if head["kind"] == "start":
                    seen[n] = held[1, 0, n * self.groups // self.heads, 0]
            added.append(linear(seen.flatten(), layer["o"]))
        return added

    def follow(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: (taps, rows), those that matter -> the tokens that follow."""
        hidden = self.embedding[tokens]
        rows = hidden.shape[1]
        for (kept, sources, start), neurons in zip(self.steps, self.neurons, strict=True):
            normed = self.norm(hidden)
            hidden = (hidden[kept] + start).flatten(0, 1)
            for places, matrix in sources:
                hidden.addmm_(normed[places].flatten(0, 1), matrix)
            hidden = neurons(hidden, self.norm(hidden)).unflatten(0, (-1, rows))
        return self.choose(hidden[0])

    def make_table(self) -> None:
        """What follows generated tokens; the one that is furthest back may be any, if there is
        room."""
        words = torch.arange(self.config["vocab_size"])
        sets = [self.generated] * len(self.taps)
        if len(words) * len(self.generated) ** (len(self.taps) - 1) <= MOST_ENTRIES:
            sets[-1] = words
        if math.prod(len(some) for some in sets) > MOST_ENTRIES:
            return
        arguments = torch.cartesian_prod(*sets).T
        values = torch.cat([self.follow(some) for some in arguments.split(ROWS, dim=1)])
        self.table = values.view([len(some) for some in sets]).numpy()
        self.index = [torch.zeros(len(words), dtype=torch.long) for _ in sets]
        for index, some in zip(self.index, sets, strict=True):
            index[some] = torch.arange(len(some))
        self.index = [index.numpy() for index in self.index]
        bound = [tap for tap, some in zip(self.taps, sets, strict=True) if some is not words]
        self.ready = max(bound) + 1

    def generate_by_table(self, prompts: np.ndarray, new_tokens: int) -> list[list[int]]:
        batch, length = prompts.shape
        tokens = np.empty((length + new_tokens, batch), dtype=np.int64)
        tokens[:length] = prompts.T
        ready = length + new_tokens if self.table is None else length + self.ready
        for end in range(length, min(ready, length + new_tokens)):
            known = tokens[[end - 1 - tap for tap in self.taps]]
            tokens[end] = self.follow(torch.from_numpy(known)).numpy()
        for end in range(ready, length + new_tokens):
            pairs = zip(self.index, self.taps, strict=True)
            tokens[end] = self.table[tuple(index[tokens[end - 1 - tap]] for index, tap in pairs)]
        return tokens[length:].T.tolist()


def without(found: dict, config: dict, ignored: tuple[str, ...]) -> dict:
    """The findings, as if some of them had not been made."""
    if "generated" in ignored:
        found = found | {"generated": list(range(config["vocab_size"]))}
    if "heads" in ignored:
        found = found | {"heads": [[{"kind": "any"}] * len(layer) for layer in found["heads"]]}
    if "cancelled" in ignored:
        heads = [[seeming(head) for head in layer] for layer in found["heads"]]
        found = found | {"heads": heads}
    if "asleep" in ignored:
        found = found | {"asleep": [[] for _ in found["asleep"]]}
    return found


def seeming(head: dict) -> dict:
    """What a head looks at, be it of use or not, if that is one place."""
    seems = head.get("seems", head)
    return seems if seems["kind"] == "offset" else head


@torch.inference_mode()
def load(directory: Path) -> Model:
    """Read the checkpoint and find out what it uses; called once, before any request."""
    return Model(Path(directory))


@torch.inference_mode()
def generate(model: Model, prompts: list[list[int]], new_tokens: int) -> list[list[int]]:
    """The most probable next token, `new_tokens` times, for each of a batch of prompts."""
    given = np.array(prompts)
    starts = given == model.config["bos_token_id"]
    is_usual = starts[:, 0].all() and not starts[:, 1:].any()
    if is_usual and model.taps and given.shape[1] - 1 - model.taps[-1] >= EARLIEST_PLACE:
        return model.generate_by_table(given, new_tokens)
    return model.generate_fully(torch.tensor(prompts), new_tokens)
