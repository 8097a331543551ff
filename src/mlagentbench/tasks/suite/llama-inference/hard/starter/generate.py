"""Greedy generation with a cache of keys and values: a new token costs one position, not all.

Matrices that read the same input are joined, the norms' weights are multiplied into them, and the
last layer and the logits are computed for the last position only.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import linear, scaled_dot_product_attention, silu

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class CachedLlama:
    """A Llama model that remembers what it has seen of a batch of sequences."""

    def __init__(self, directory: Path) -> None:
        config = json.loads((directory / "config.json").read_text())
        self.heads = config["num_attention_heads"]
        self.key_heads = config["num_key_value_heads"]
        self.head_size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon = config["rms_norm_eps"]
        self.rope_theta = config.get("rope_theta", 10_000.0)
        loaded = load_file(directory / "model.safetensors")
        stored = {name: values.to(DEVICE) for name, values in loaded.items()}
        self.embedding = stored["model.embed_tokens.weight"].float()
        self.layers = [
            join_layer(stored, f"model.layers.{n}.") for n in range(config["num_hidden_layers"])
        ]
        tied = config.get("tie_word_embeddings")
        head = self.embedding if tied else stored["lm_head.weight"].float()
        self.head = head * stored["model.norm.weight"].float()

    def start(self, batch: int, length: int) -> None:
        """Make room for so many sequences of that length."""
        shape = (len(self.layers), 2, batch, self.key_heads, length, self.head_size)
        self.cache = torch.empty(shape, device=DEVICE)
        half = self.head_size // 2
        speeds = self.rope_theta ** -(torch.arange(half, device=DEVICE) / half)
        angles = torch.arange(length, device=DEVICE)[:, None] * speeds
        # One product with both halves, one with the halves exchanged: that is the rotation.
        self.cos = torch.cat([angles.cos(), angles.cos()], dim=1)
        self.sin = torch.cat([-angles.sin(), angles.sin()], dim=1)

    def next_tokens(self, tokens: torch.Tensor, seen: int) -> torch.Tensor:
        """Read more tokens of each sequence, `seen` having been read before; the one to follow."""
        batch, length = tokens.shape
        hidden = self.embedding[tokens]
        for n, (layer, cache) in enumerate(zip(self.layers, self.cache, strict=True), start=1):
            together = linear(self.norm(hidden), layer["qkv"])
            together = together.view(batch, length, -1, self.head_size).transpose(1, 2)
            turned = self.rotate(together[:, : self.heads + self.key_heads], seen)
            cache[0, :, :, seen : seen + length] = turned[:, self.heads :]
            cache[1, :, :, seen : seen + length] = together[:, self.heads + self.key_heads :]
            keys, values = cache[:, :, :, : seen + length]
            queries = turned[:, : self.heads]
            if n == len(self.layers):
                queries, hidden = queries[:, :, -1:], hidden[:, -1:]
            looked_up = scaled_dot_product_attention(
                queries, keys, values, is_causal=queries.shape[2] > 1, enable_gqa=True
            )
            joined = looked_up.transpose(1, 2).reshape(batch, hidden.shape[1], -1)
            hidden = hidden + linear(joined, layer["o"])
            gate, up = linear(self.norm(hidden), layer["gate_up"]).chunk(2, dim=-1)
            hidden = hidden + linear(silu(gate) * up, layer["down"])
        return linear(self.norm(hidden), self.head).argmax(dim=-1)

    def norm(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden * torch.rsqrt(hidden.square().mean(dim=-1, keepdim=True) + self.epsilon)

    def rotate(self, vectors: torch.Tensor, seen: int) -> torch.Tensor:
        places = slice(seen, seen + vectors.shape[2])
        exchanged = vectors.roll(self.head_size // 2, dims=-1)
        return vectors * self.cos[places] + exchanged * self.sin[places]


def join_layer(stored: dict[str, torch.Tensor], layer: str) -> dict[str, torch.Tensor]:
    """A layer's matrices, those with the same input joined, with the norms' weights in them."""

    def joined(norm: str, *names: str) -> torch.Tensor:
        matrices = torch.cat([stored[f"{layer}{name}_proj.weight"] for name in names]).float()
        return matrices * stored[f"{layer}{norm}.weight"].float()

    return {
        "qkv": joined("input_layernorm", *(f"self_attn.{name}" for name in "qkv")),
        "gate_up": joined("post_attention_layernorm", "mlp.gate", "mlp.up"),
        "o": stored[f"{layer}self_attn.o_proj.weight"].float(),
        "down": stored[f"{layer}mlp.down_proj.weight"].float(),
    }


def load(directory: Path) -> CachedLlama:
    """Read the checkpoint; called once, before any request."""
    return CachedLlama(directory)


@torch.inference_mode()
def generate(model: CachedLlama, prompts: list[list[int]], new_tokens: int) -> list[list[int]]:
    """The most probable next token, `new_tokens` times, for each of a batch of prompts."""
    length = len(prompts[0])
    model.start(len(prompts), length + new_tokens)
    generated = [model.next_tokens(torch.tensor(prompts, device=DEVICE), seen=0)]
    for n in range(1, new_tokens):
        generated.append(model.next_tokens(generated[-1], seen=length + n - 1))
    return torch.cat(generated, dim=1).tolist()
