# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What a checkpoint uses of itself, seen by running it on every token in random company."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import linear, silu

EARLIEST = 16
"""Heads are judged from this place on: before it, what they look for may not be there yet."""
NOTHING = 1e-5
"""A part of a token's hidden state that is smaller than this changes no logit that matters."""
SURE = 1e-4
FAR_BEHIND = 4.0
"""A token whose logit never comes nearer to the highest one than this is not generated."""
LENGTH, ROUNDS, BATCH = 64, 2, 16


@torch.inference_mode()
def find(directory: Path) -> dict:
    """What each head looks at, which neurons sleep, and which tokens can be generated."""
    config = json.loads((directory / "config.json").read_text())
    stored = load_file(directory / "model.safetensors")
    weights = {name: values.float() for name, values in stored.items()}
    hidden = weights["model.embed_tokens.weight"][draw_probe(config)]
    heads, asleep = [], []
    for n in range(config["num_hidden_layers"]):
        layer = {
            name.removeprefix(f"model.layers.{n}."): values
            for name, values in weights.items()
            if name.startswith(f"model.layers.{n}.")
        }
        hidden, found = watch_heads(config, layer, hidden)
        heads.append(found)
        hidden, found = watch_neurons(config, layer, hidden)
        asleep.append(found)
    normed = rms_norm(config, hidden, weights["model.norm.weight"])
    nearest = torch.full((config["vocab_size"],), torch.inf)
    for some in normed[:, EARLIEST:].split(BATCH):
        logits = linear(some, weights["lm_head.weight"])
        behind = (logits.amax(dim=2, keepdim=True) - logits).amin(dim=(0, 1))
        nearest = torch.minimum(nearest, behind)
    generated = (nearest < FAR_BEHIND).nonzero()[:, 0].tolist()
    return {"heads": heads, "asleep": asleep, "generated": generated}


def draw_probe(config: dict) -> torch.Tensor:
    """Every token several times, after the one that starts all prompts, which comes only there."""
    generator = torch.Generator().manual_seed(0)
    start = config["bos_token_id"]
    tokens = torch.arange(config["vocab_size"])
    tokens = tokens[tokens != start]
    orders = [torch.randperm(len(tokens), generator=generator) for _ in range(ROUNDS)]
    text = tokens[torch.cat(orders)]
    text = torch.cat([text, text[: -len(text) % LENGTH]]).view(-1, LENGTH)
    return torch.cat([torch.full((len(text), 1), start), text], dim=1)


def rms_norm(config: dict, hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    power = hidden.square().mean(dim=-1, keepdim=True)
    return hidden * torch.rsqrt(power + config["rms_norm_eps"]) * weight


def watch_heads(
    config: dict, layer: dict[str, torch.Tensor], hidden: torch.Tensor
) -> tuple[torch.Tensor, list[dict]]:
    """The hidden states after attention, and what each head looks at."""
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim") or config["hidden_size"] // heads
    per, length = heads // groups, hidden.shape[1]
    turns = rotations(config, size, length)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    outward = layer["self_attn.o_proj.weight"].view(-1, heads, size)
    lowest = torch.ones(heads, length, length)
    strength = torch.zeros(groups)
    after = []
    for some in hidden.split(BATCH):
        normed = rms_norm(config, some, layer["input_layernorm.weight"])
        queries, keys, values = (
            linear(normed, layer[f"self_attn.{name}_proj.weight"])
            .view(*normed.shape[:2], -1, size)
            .transpose(1, 2)
            for name in "qkv"
        )
        keys, values = (
            turn.repeat_interleave(per, dim=1) for turn in (rotate(keys, turns), values)
        )
        scores = rotate(queries, turns) @ keys.transpose(2, 3) / size**0.5
        shares = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        seen = torch.einsum("bhts,ohs->bhto", shares @ values, outward)
        by_group = seen.unflatten(1, (groups, per)).sum(dim=2)
        strength = torch.maximum(strength, by_group.norm(dim=-1).amax(dim=(0, 2)))
        lowest = torch.minimum(lowest, shares.amin(dim=0))
        after.append(some + by_group.sum(dim=1))
    found = [kind_of(looked) for looked in lowest]
    for n in range(heads):
        if strength[n // per] < NOTHING:  # heads that cancel out
            found[n] = {"kind": "none", "seems": found[n]}
    return torch.cat(after), found


def kind_of(lowest: torch.Tensor) -> dict:
    """What a head looks at, from the least that it looks from each place to each."""
    places = torch.arange(EARLIEST, len(lowest))
    for back in range(EARLIEST):
        if lowest[places, places - back].min() > 1 - SURE:
            return {"kind": "offset", "back": back}
    if lowest[places, 0].min() > 1 - SURE:
        return {"kind": "start"}
    return {"kind": "any"}


def rotations(config: dict, size: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    half = size // 2
    speeds = config.get("rope_theta", 10_000.0) ** -(torch.arange(half) / half)
    angles = torch.arange(length)[:, None] * speeds
    return (
        torch.cat([angles.cos(), angles.cos()], dim=1),
        torch.cat([-angles.sin(), angles.sin()], dim=1),
    )


def rotate(vectors: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    exchanged = vectors.roll(vectors.shape[-1] // 2, dims=-1)
    return vectors * turns[0] + exchanged * turns[1]


def watch_neurons(
    config: dict, layer: dict[str, torch.Tensor], hidden: torch.Tensor
) -> tuple[torch.Tensor, list[int]]:
    """The hidden states after the neurons, and which of these never fire."""
    gate, up, down = (layer[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
    most = torch.zeros(len(gate))
    after = []
    for some in hidden.split(BATCH):
        normed = rms_norm(config, some, layer["post_attention_layernorm.weight"])
        fired = silu(linear(normed, gate)) * linear(normed, up)
        most = torch.maximum(most, fired.abs().amax(dim=(0, 1)))
        after.append(some + linear(fired, down))
    asleep = most * down.norm(dim=0) < NOTHING
    return torch.cat(after), asleep.nonzero()[:, 0].tolist()
