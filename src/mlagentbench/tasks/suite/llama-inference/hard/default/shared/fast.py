# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Greedy generation with a cache of keys and values, and what else makes any checkpoint faster.

Each recipe is a set of options; load calibrates them, keeps those that change no reply, and of
several recipes the fastest.
"""

import json
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import linear, scaled_dot_product_attention, silu

RECIPES: list[tuple[str, ...]] = [()]
WINDOWS = (8, 16, 32, 64)
NOTHING = 1e-5
FAR_BEHIND = 4.0


class Fast:
    """A Llama model that leaves out what calibration finds unused."""

    def __init__(self, directory: Path, options: tuple[str, ...]) -> None:
        config = json.loads((directory / "config.json").read_text())
        self.options, self.window = options, None
        self.start = config["bos_token_id"]
        self.heads, self.groups = config["num_attention_heads"], config["num_key_value_heads"]
        self.size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon, self.theta = config["rms_norm_eps"], config.get("rope_theta", 10_000.0)
        stored = {
            name: values.float()
            for name, values in load_file(directory / "model.safetensors").items()
        }
        self.embedding = stored["model.embed_tokens.weight"]
        self.layers = []
        for n in range(config["num_hidden_layers"]):
            layer = f"model.layers.{n}."
            names = [f"{layer}self_attn.{name}_proj.weight" for name in "qkv"]
            normed = stored[f"{layer}post_attention_layernorm.weight"]
            self.layers.append(
                {
                    "qkv": torch.cat([stored[name] for name in names])
                    * stored[f"{layer}input_layernorm.weight"],
                    "o": stored[f"{layer}self_attn.o_proj.weight"],
                    "gate": stored[f"{layer}mlp.gate_proj.weight"] * normed,
                    "up": stored[f"{layer}mlp.up_proj.weight"] * normed,
                    "down": stored[f"{layer}mlp.down_proj.weight"],
                }
            )
        self.head = stored["lm_head.weight"] * stored["model.norm.weight"]
        self.words = torch.arange(len(self.head))
        self.watched: list[torch.Tensor] | None = None
        self.calibrate()

    def calibrate(self) -> None:
        """Leave out neurons that never fire, and tokens that are never near the highest."""
        vocabulary = len(self.head)
        generator = torch.Generator().manual_seed(0)
        text = torch.stack([torch.randperm(vocabulary, generator=generator) for _ in range(3)])
        text = text[text != self.start].view(-1)
        text = text[: len(text) // 63 * 63].view(-1, 63)
        probe = torch.cat([torch.full((len(text), 1), self.start), text], dim=1)
        self.watched = [torch.zeros(len(layer["gate"])) for layer in self.layers]
        nearest = torch.full((vocabulary,), torch.inf)
        for some in probe.split(16):
            hidden = self.read(some, 0, self.make_cache(*some.shape), last=False)
            logits = linear(self.norm(hidden), self.head)
            behind = (logits.amax(dim=2, keepdim=True) - logits).amin(dim=(0, 1))
            nearest = torch.minimum(nearest, behind)
        for layer, most in zip(self.layers, self.watched, strict=True):
            awake = most * layer["down"].norm(dim=0) > NOTHING
            if "neurons" in self.options:
                layer |= {name: layer[name][awake] for name in ("gate", "up")}
                layer["down"] = layer["down"][:, awake].contiguous()
            layer["gate_up"] = torch.cat([layer.pop("gate"), layer.pop("up")])
        self.watched = None
        if "words" in self.options:
            self.words = (nearest < FAR_BEHIND).nonzero()[:, 0]
            self.head = self.head[self.words]
        # What the first layer reads of a token is the same wherever the token is.
        self.first = linear(self.norm(self.embedding), self.layers[0]["qkv"])

    def make_cache(self, batch: int, length: int) -> torch.Tensor:
        half = self.size // 2
        angles = torch.arange(length)[:, None] * self.theta ** -(torch.arange(half) / half)
        self.cos = torch.cat([angles.cos(), angles.cos()], dim=1)
        self.sin = torch.cat([-angles.sin(), angles.sin()], dim=1)
        return torch.empty(len(self.layers), 2, batch, self.groups, length, self.size)

    def norm(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden * torch.rsqrt(hidden.square().mean(dim=-1, keepdim=True) + self.epsilon)

    def read(
        self, tokens: torch.Tensor, seen: int, cache: torch.Tensor, last: bool = True
    ) -> torch.Tensor:
        """The hidden states of more tokens, or of the last of them."""
        batch, length = tokens.shape
        hidden = self.embedding[tokens]
        places = slice(seen, seen + length)
        for n, (layer, held) in enumerate(zip(self.layers, cache, strict=True)):
            if n == 0 and self.watched is None:
                together = self.first[tokens]
            else:
                together = linear(self.norm(hidden), layer["qkv"])
            together = together.view(batch, length, -1, self.size).transpose(1, 2)
            turned = together[:, : self.heads + self.groups]
            exchanged = turned.roll(self.size // 2, dims=-1)
            turned = turned * self.cos[places] + exchanged * self.sin[places]
            held[0, :, :, places] = turned[:, self.heads :]
            held[1, :, :, places] = together[:, self.heads + self.groups :]
            queries = turned[:, : self.heads]
            if last and n == len(self.layers) - 1:
                queries, hidden = queries[:, :, -1:], hidden[:, -1:]
            joined = self.attend(queries, held[:, :, :, : seen + length])
            hidden = hidden + linear(joined, layer["o"])
            hidden = hidden + self.feed_forward(n, layer, self.norm(hidden))
        return hidden

    def attend(self, queries: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
        batch, _, length, _ = queries.shape
        if length == 1 and "products" in self.options:
            shared = queries.view(batch, self.groups, -1, self.size)
            shares = (shared @ held[0].transpose(2, 3) / self.size**0.5).softmax(dim=-1)
            return (shares @ held[1]).view(batch, 1, -1)
        seen = scaled_dot_product_attention(
            queries, held[0], held[1], is_causal=length > 1, enable_gqa=True
        )
        return seen.transpose(1, 2).reshape(batch, length, -1)

    def feed_forward(self, n: int, layer: dict[str, torch.Tensor], normed: torch.Tensor):
        if self.watched is not None:
            fired = silu(linear(normed, layer["gate"])) * linear(normed, layer["up"])
            self.watched[n] = torch.maximum(self.watched[n], fired.abs().amax(dim=(0, 1)))
        else:
            gate, up = linear(normed, layer["gate_up"]).chunk(2, dim=-1)
            fired = silu(gate) * up
        return linear(fired, layer["down"])

    def generate(self, prompts: torch.Tensor, new_tokens: int) -> torch.Tensor:
        if self.window is not None and prompts.shape[1] > self.window + 1:
            prompts = torch.cat([prompts[:, :1], prompts[:, -self.window :]], dim=1)
        batch, length = prompts.shape
        cache = self.make_cache(batch, length + new_tokens)
        tokens, seen, generated = prompts, 0, []
        for _ in range(new_tokens):
            hidden = self.read(tokens, seen, cache)[:, -1]
            seen += tokens.shape[1]
            tokens = self.words[linear(self.norm(hidden), self.head).argmax(dim=-1)][:, None]
            generated.append(tokens)
        return torch.cat(generated, dim=1)


@torch.inference_mode()
def load(directory: Path) -> Fast:
    """The fastest of the recipes, each with the shortest window that changes nothing."""
    generator = torch.Generator().manual_seed(1)
    best, least = None, float("inf")
    for options in RECIPES:
        model = Fast(directory, options)
        shape = (16, 127)
        prompts = torch.randint(3, len(model.embedding), shape, generator=generator)
        prompts = torch.cat([torch.full((16, 1), model.start), prompts], dim=1)
        expected = model.generate(prompts, 32)
        for window in WINDOWS if "window" in options else ():
            model.window = window
            if (model.generate(prompts, 32) == expected).all():
                break
            model.window = None
        seconds = []
        for _ in range(3 if len(RECIPES) > 1 else 0):
            begin = time.perf_counter()
            model.generate(prompts, 32)
            seconds.append(time.perf_counter() - begin)
        if best is None or min(seconds) < least:
            best, least = model, min(seconds, default=0.0)
    return best


@torch.inference_mode()
def generate(model: Fast, prompts: list[list[int]], new_tokens: int) -> list[list[int]]:
    """The most probable next token, `new_tokens` times, for each of a batch of prompts."""
    return model.generate(torch.tensor(prompts), new_tokens).tolist()
