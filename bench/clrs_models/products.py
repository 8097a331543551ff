"""Pairs of nodes hear products of matrices, as in provably powerful graph networks."""

import torch
from torch import nn

LARGEST, SMALLEST = 1e3, 1e-6


class Model(nn.Module):
    def __init__(self, hidden: int, features: int, rounds: int) -> None:
        super().__init__()
        self.encode = perceptron(3, hidden, hidden)
        self.first = nn.ModuleList(perceptron(hidden, hidden, features) for _ in range(rounds))
        self.second = nn.ModuleList(perceptron(hidden, hidden, features) for _ in range(rounds))
        self.change = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(hidden + features), perceptron(hidden + features, hidden, hidden)
            )
            for _ in range(rounds)
        )
        self.score = nn.Linear(hidden, features)
        self.score_edge = perceptron(hidden, hidden, features)
        self.logit = nn.Sequential(nn.SiLU(), nn.Linear(features, 1))

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        same = torch.eye(weights.shape[1]).expand_as(weights)
        known = self.encode(torch.stack([weights, (weights > 0).float(), same], dim=3))
        state = known
        for first, second, change in zip(self.first, self.second, self.change, strict=True):
            ways = (half(state).exp().clamp(max=LARGEST) for half in (first, second))
            product = torch.einsum("gikf,gkjf->gijf", *ways)
            state = state + change(torch.cat([state, product.clamp(min=SMALLEST).log()], dim=3))
        scored = self.score(state)[:, :, None] + self.score_edge(known).transpose(1, 2)[:, None]
        return self.logit(scored).squeeze(4)


def perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.SiLU(), nn.Linear(hidden, outputs))
