"""A Llama model in plain PyTorch: reads a checkpoint in Hugging Face's layout, computes logits."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import linear, silu

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Llama:
    """The weights of a checkpoint, in float32, and what the model makes of token ids."""

    def __init__(self, directory: Path) -> None:
        config = json.loads((directory / "config.json").read_text())
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.key_heads = config["num_key_value_heads"]
        self.head_size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon = config["rms_norm_eps"]
        self.rope_theta = config.get("rope_theta", 10_000.0)
        stored = load_file(directory / "model.safetensors")
        self.weights = {name: values.to(DEVICE).float() for name, values in stored.items()}
        if config.get("tie_word_embeddings"):
            self.weights["lm_head.weight"] = self.weights["model.embed_tokens.weight"]

    @torch.inference_mode()
    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: (batch, length) -> (batch, length, vocabulary).

        The logits at a place are those of the token that follows it.
        """
        hidden = self.weights["model.embed_tokens.weight"][tokens.to(DEVICE)]
        for n in range(self.layers):
            layer = f"model.layers.{n}."
            hidden = hidden + self.attention(layer, hidden)
            hidden = hidden + self.feed_forward(layer, hidden)
        return self.project("lm_head", self.norm("model.norm", hidden))

    def attention(self, layer: str, hidden: torch.Tensor) -> torch.Tensor:
        batch, length, _ = hidden.shape
        normed = self.norm(f"{layer}input_layernorm", hidden)
        queries, keys, values = (
            self.project(f"{layer}self_attn.{name}_proj", normed)
            .view(batch, length, -1, self.head_size)
            .transpose(1, 2)
            for name in "qkv"
        )
        queries, keys = self.rotate(queries), self.rotate(keys)
        # Several query heads share one head of keys and values.
        keys, values = (
            shared.repeat_interleave(self.heads // self.key_heads, dim=1)
            for shared in (keys, values)
        )
        scores = queries @ keys.transpose(2, 3) / self.head_size**0.5
        future = torch.ones(length, length, dtype=torch.bool, device=DEVICE).triu(1)
        seen = scores.masked_fill(future, float("-inf")).softmax(dim=-1) @ values
        joined = seen.transpose(1, 2).reshape(batch, length, -1)
        return self.project(f"{layer}self_attn.o_proj", joined)

    def feed_forward(self, layer: str, hidden: torch.Tensor) -> torch.Tensor:
        normed = self.norm(f"{layer}post_attention_layernorm", hidden)
        gate = silu(self.project(f"{layer}mlp.gate_proj", normed))
        return self.project(
            f"{layer}mlp.down_proj", gate * self.project(f"{layer}mlp.up_proj", normed)
        )

    def rotate(self, vectors: torch.Tensor) -> torch.Tensor:
        """Turn pairs of features by angles that grow with the position (rotary embedding)."""
        half = self.head_size // 2
        speeds = self.rope_theta ** -(torch.arange(half, device=DEVICE) / half)
        angles = torch.arange(vectors.shape[2], device=DEVICE)[:, None] * speeds
        first, second = vectors[..., :half], vectors[..., half:]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(hidden.square().mean(dim=-1, keepdim=True) + self.epsilon)
        return hidden * scale * self.weights[f"{name}.weight"]

    def project(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        return linear(hidden, self.weights[f"{name}.weight"])
