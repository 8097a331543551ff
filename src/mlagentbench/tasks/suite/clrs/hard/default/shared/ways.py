"""Rules as tables: what counts of an edge by its marks and a memory; networks are taught by them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from graphs import labelled, sample
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional
from ways_model import FAR, Model, features, walk

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
SETTINGS = json.loads(Path("settings.json").read_text())
FIRST, SECOND = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")


@dataclass
class Rule:
    """`count` [state, mark, mark, 16] and `follow` [state, mark, mark], a next state."""

    count: np.ndarray
    follow: np.ndarray
    power: float = 1.0
    growth: float = 1.0
    name: str = ""


def memory(kind: str) -> np.ndarray:
    """The next state by state and marks."""
    what, _, rest = kind.partition(":")
    if what == "prev":
        return np.broadcast_to((FIRST if rest == "0" else SECOND) + 1, (5, 4, 4)).copy()
    if what == "both":
        return np.broadcast_to(4 * FIRST + SECOND + 1, (17, 4, 4)).copy()
    if what == "parity":
        return np.stack([np.ones((4, 4), int), np.zeros((4, 4), int)])
    if what == "first":
        return np.ones((2, 4, 4), int)
    if what in ("latch", "toggle"):
        column, members = rest.split(":")
        hit = np.isin(FIRST if column == "0" else SECOND, [int(m) for m in members]).astype(int)
        return np.stack([hit, np.ones((4, 4), int) if what == "latch" else 1 - hit])
    return np.zeros((1, 4, 4), int)


def costs(rule: Rule, weights: torch.Tensor, count: torch.Tensor | None = None):
    """The cost [graph, k, j, state] of every edge by the rule, and which state follows."""
    if count is None:
        count = torch.tensor(rule.count, dtype=torch.float32)
    marks = (weights[..., 4:6].long() - 1).clamp(min=0)
    by_state = count.permute(1, 2, 0, 3)[marks[..., 0], marks[..., 1]]
    cost = (by_state * features(weights)[..., None, :]).sum(dim=-1).clamp(min=1e-4) ** rule.power
    cost = torch.where(weights[..., 4:5] > 0, cost, torch.tensor(FAR))
    after = torch.tensor(rule.follow).permute(1, 2, 0)[marks[..., 0], marks[..., 1]]
    follow = torch.where(after[..., None] == torch.arange(len(rule.follow)), 0.0, FAR)
    return cost, follow


def logits(rule: Rule, weights: torch.Tensor, rounds: int, count: torch.Tensor | None = None):
    cost, follow = costs(rule, weights, count)
    return -torch.log(walk(cost, follow, rounds, rule.growth))


@torch.no_grad()
def accuracy(rule: Rule, nodes: int, rounds: int, most: int = 1000) -> float:
    weights, pointers = labelled(nodes)
    found = logits(rule, torch.from_numpy(weights[:most]), rounds).argmax(dim=3).numpy()
    return float((found == pointers[:most])[pointers[:most] >= 0].mean())


def fit(rule: Rule, steps: int, sizes: tuple[int, ...], rate: float = 0.05) -> Rule:
    """Adapts what counts to the labelled graphs, through the ways."""
    rng = np.random.default_rng(SEED)
    graphs = {nodes: labelled(nodes) for nodes in sizes}
    raw = torch.tensor(np.sqrt(np.maximum(rule.count, 1e-3)), dtype=torch.float32)
    raw.requires_grad_()
    sharp = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.Adam([raw, sharp], lr=rate)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - step / steps) + 1e-4
        nodes = int(rng.choice(sizes))
        weights, pointers = graphs[nodes]
        chosen = rng.integers(len(weights), size=max(10, 300 // nodes**2))
        targets = torch.from_numpy(pointers[chosen])
        asked = targets >= 0
        found = logits(rule, torch.from_numpy(weights[chosen]), min(nodes, 5), raw**2)
        found = found.clamp(min=-40) * sharp.exp() / rule.power
        loss = functional.cross_entropy(found[asked], targets[asked]) + 2e-4 * raw.abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    count = (raw**2).detach().numpy()
    return Rule(count / max(count.max(), 1e-9), rule.follow, rule.power, rule.growth, rule.name)


def snap(rule: Rule) -> Rule:
    """What counts little does not count, and the rest is rounded: kept where that is no worse."""
    best, score = rule, accuracy(rule, 8, 7) + accuracy(rule, 5, 6)
    typical = np.median(rule.count[rule.count > 0.3 * rule.count.max()])
    for unit in (typical, typical / 2, rule.count.max(), rule.count.max() / 4):
        rounded = np.round(rule.count / unit * 2) / 2
        tried = Rule(rounded, rule.follow, rule.power, rule.growth, rule.name + " snapped")
        found = accuracy(tried, 8, 7) + accuracy(tried, 5, 6)
        if found >= score:
            best, score = tried, found
    return best


def teach(rule: Rule, steps: int = 1200, hidden: int = 96) -> None:
    """Trains a network on examples of the rule, then on ways by it; writes the submission."""
    torch.manual_seed(SEED)
    states, nodes = len(rule.follow), SETTINGS["test_nodes"]
    config = {"states": states, "hidden": hidden, "rounds": 12, "power": rule.power}
    model = Model(**config)
    marks = torch.tensor(np.stack([FIRST, SECOND], axis=2).reshape(16, 2) + 1)
    size = float(np.abs(rule.count).max())
    count = torch.tensor(rule.count / size, dtype=torch.float32).permute(1, 2, 0, 3)
    follow = torch.tensor(rule.follow).permute(1, 2, 0).reshape(16 * states)
    count = count.reshape(16, states, 16)
    barred = (torch.arange(17) == 16).float()[:, None].expand(17, states)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for _ in range(steps):
        counted, remembered, closed = model.step(torch.cat([marks, 0 * marks[:1]]))
        counted, remembered = counted[:16], remembered[:16]
        shut = functional.binary_cross_entropy_with_logits(closed, barred)
        edges = torch.rand(64, 16) ** 3
        wrong = ((counted - count) @ edges.T).square().mean() + (
            counted - count
        ).square().sum() / 99
        grows = (model.growth - float(np.log(rule.growth))).square().sum()
        states_wrong = functional.cross_entropy(remembered.reshape(-1, states), follow)
        optimizer.zero_grad()
        (10 * wrong + states_wrong + grows + shut).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    print(f"rule {rule.name}: taught, error {wrong.item():.2e}, agrees {agree(model, rule):.4f}")
    weights, pointers = labelled(nodes)
    with torch.no_grad():
        found = model(torch.from_numpy(weights)).argmax(dim=3).numpy()
    print(f"validation accuracy={(found == pointers)[pointers >= 0].mean():.4f}")
    Path("submission").mkdir(exist_ok=True)
    Path("submission/model.py").write_text(Path("ways_model.py").read_text())
    Path("submission/config.json").write_text(json.dumps(config))
    save_file(model.state_dict(), "submission/model.safetensors")


@torch.no_grad()
def agree(model: Model, rule: Rule) -> float:
    """How often network and rule point to the same nodes, in fresh graphs of 8 nodes."""
    weights = torch.from_numpy(sample(20, 8, np.random.default_rng(SEED + 1)))
    return (model(weights).argmax(3) == logits(rule, weights, 12).argmax(3)).float().mean().item()
