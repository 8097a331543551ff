"""Every pair of nodes has the memory of a recurrent cell, which hears sums over the third node."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, hidden: int, features: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.encode = nn.Linear(3, hidden)
        self.first = nn.Linear(hidden, features)
        self.second = nn.Linear(hidden, features)
        self.norm = nn.LayerNorm(2 * features)
        self.cell = nn.GRUCell(2 * features, hidden)
        self.score = nn.Linear(hidden, features)
        self.score_edge = nn.Linear(hidden, features)
        self.logit = nn.Sequential(nn.ReLU(), nn.Linear(features, 1))

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        same = torch.eye(weights.shape[1]).expand_as(weights)
        known = torch.tanh(self.encode(torch.stack([weights, (weights > 0).float(), same], dim=3)))
        state = known
        for _ in range(self.rounds):
            first, second = (
                self.first(state)[:, :, None],
                self.second(state).transpose(1, 2)[:, None],
            )
            together = torch.relu(first + second)
            heard = self.norm(torch.cat([together.amax(dim=3), together.mean(dim=3)], dim=3))
            shape = state.shape
            state = self.cell(heard.flatten(0, 2), state.flatten(0, 2)).view(shape)
        scored = self.score(state)[:, :, None] + self.score_edge(known).transpose(1, 2)[:, None]
        return self.logit(scored).squeeze(4)
