"""Greedy generation, written the obvious way: every new token costs the whole sequence."""

from pathlib import Path

import torch
from llama import DEVICE, Llama


def load(directory: Path) -> Llama:
    """Read the checkpoint; called once, before any request."""
    return Llama(directory)


def generate(model: Llama, prompts: list[list[int]], new_tokens: int) -> list[list[int]]:
    """The most probable next token, `new_tokens` times, for each of a batch of prompts.

    All prompts of a batch have the same length.
    """
    tokens = torch.tensor(prompts, device=DEVICE)
    for _ in range(new_tokens):
        following = model.logits(tokens)[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, following], dim=1)
    return tokens[:, len(prompts[0]) :].tolist()
