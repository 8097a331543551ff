"""GPT-2 in plain PyTorch, under the names by which Hugging Face Transformers knows its weights."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional


class GPT2(nn.Module):
    """Tokens (texts, length) in, logits of each next token (texts, length, vocabulary) out."""

    def __init__(self, vocabulary: int, context: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for name, weight in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(weight)
            elif weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            hidden = block(hidden)
        return functional.linear(self.ln_f(hidden), self.wte.weight)


class Block(nn.Module):
    """Attention to the tokens so far, then a step for each token by itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.ModuleDict(
            {"c_attn": nn.Linear(width, 3 * width), "c_proj": nn.Linear(width, width)}
        )
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)}
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.attend(self.ln_1(hidden))
        inner = functional.gelu(self.mlp["c_fc"](self.ln_2(hidden)), approximate="tanh")
        return hidden + self.mlp["c_proj"](inner)

    def attend(self, hidden: torch.Tensor) -> torch.Tensor:
        texts, length, width = hidden.shape
        parts = self.attn["c_attn"](hidden).view(texts, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.attn["c_proj"](found.transpose(1, 2).reshape(texts, length, width))


def save_model(model: GPT2, start: int, directory: Path) -> None:
    """Write config.json and model.safetensors; `start` is the token before each text."""
    vocabulary, width = model.wte.weight.shape
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": vocabulary,
        "n_positions": len(model.wpe.weight), "n_embd": width, "n_layer": len(model.h),
        "n_head": model.h[0].heads, "bos_token_id": start, "eos_token_id": start,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    weights = {}
    for name, weight in model.state_dict().items():
        linear = ".c_" in name and weight.dim() == 2  # Transformers keeps these the other way round
        weights[f"transformer.{name}"] = weight.T.contiguous() if linear else weight
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
