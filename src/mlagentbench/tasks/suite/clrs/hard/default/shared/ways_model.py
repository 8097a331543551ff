"""A network that walks: a learnt cost and a learnt memory for every edge, the best over all nodes."""

import torch
from torch import nn

FAR = 1e30
PAIRS = [(a, b) for a in range(4) for b in range(a + 1, 4)]


def features(weights: torch.Tensor) -> torch.Tensor:
    """The four lengths, and the larger and the smaller of each two; relative to the mean length."""
    lengths = weights[..., :4].clamp(min=0)
    there = (weights[..., 4:5] > 0).float()
    mean = lengths.sum(dim=(1, 2, 3)) / (4 * there.sum(dim=(1, 2, 3))).clamp(min=1)
    lengths = lengths / mean.clamp(min=1e-9)[:, None, None, None]
    first, second = lengths[..., [a for a, _ in PAIRS]], lengths[..., [b for _, b in PAIRS]]
    return torch.cat([lengths, torch.maximum(first, second), torch.minimum(first, second)], dim=3)


def walk(cost: torch.Tensor, follow: torch.Tensor, rounds: int, growth: torch.Tensor | float):
    """The cheapest cost [graph, i, j, k] of a way from i to j whose last edge is from k.

    `cost` is [graph, k, j, state] and `follow` (0 or FAR) [graph, k, j, state, next state].
    """
    graphs, nodes, _, states = cost.shape
    value = torch.full((graphs, nodes, nodes, states), FAR, device=cost.device)
    value[:, torch.arange(nodes), torch.arange(nodes), 0] = 0.0
    best = torch.full((graphs, nodes, nodes, nodes), FAR, device=cost.device)
    for step in range(rounds):
        reached = value[:, :, :, None] + cost[:, None] * growth**step
        best = torch.minimum(best, reached.amin(dim=4).transpose(2, 3))
        if states == 1:
            value = reached.amin(dim=2).clamp(max=FAR)
        else:
            ways = [(reached + follow[:, None, ..., s]).amin(dim=(2, 4)) for s in range(states)]
            value = torch.stack(ways, dim=3).clamp(max=FAR)
    return best


class Model(nn.Module):
    """For an edge's marks and a state of memory it learns what lengths count and the next state."""

    def __init__(self, states: int, hidden: int, rounds: int, power: float) -> None:
        super().__init__()
        self.states, self.rounds, self.power = states, rounds, power
        self.read = nn.Sequential(
            nn.Linear(8 + states, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.count = nn.Linear(hidden, 16)
        self.remember = nn.Linear(hidden, states)
        self.closed = nn.Linear(hidden, 1)
        self.growth = nn.Parameter(torch.zeros(1))

    def step(self, marks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What counts, what is remembered, and if there is no edge; for every state."""
        seen = torch.cat(
            [(marks[..., c : c + 1] == torch.arange(1, 5)).float() for c in (0, 1)], -1
        )
        seen = seen[..., None, :].expand(*seen.shape[:-1], self.states, 8)
        states = torch.eye(self.states).expand(*seen.shape[:-1], self.states)
        hidden = self.read(torch.cat([seen, states], dim=-1))
        return self.count(hidden), self.remember(hidden), self.closed(hidden).squeeze(-1)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        count, remember, closed = self.step(weights[..., 4:6])
        cost = (count * features(weights)[..., None, :]).sum(dim=-1).clamp(min=1e-4) ** self.power
        cost = torch.where(closed > 0, torch.tensor(FAR), cost)
        chosen = remember.argmax(dim=-1, keepdim=True) == torch.arange(self.states)
        follow = torch.where(chosen, 0.0, FAR)
        return -torch.log(walk(cost, follow, self.rounds, self.growth.exp()))
