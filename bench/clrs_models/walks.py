"""A walk from every node: what (i, k) knows and the edge (k, j) tell (i, j) something new."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, hidden: int, messages: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.encode = perceptron(3, hidden, hidden)
        self.here = nn.Linear(hidden, messages)
        self.edge = perceptron(2, hidden, messages)
        self.change = perceptron(hidden + messages, hidden, hidden)
        self.score = nn.Linear(hidden, messages)
        self.score_edge = perceptron(2, hidden, messages)
        self.logit = nn.Linear(messages, 1)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        there = (weights > 0).float()
        same = torch.eye(weights.shape[1]).expand_as(weights)
        state = self.encode(torch.stack([weights, there, same], dim=3))
        edges = torch.stack([weights, there], dim=3).transpose(1, 2)
        along = self.edge(edges)[:, None]
        for _ in range(self.rounds):
            heard = torch.relu(self.here(state)[:, :, None] + along).amax(dim=3)
            state = state + self.change(torch.cat([state, heard], dim=3))
        scored = self.score(state)[:, :, None] + self.score_edge(edges)[:, None]
        return self.logit(torch.nn.functional.elu(scored)).squeeze(4)


def perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
