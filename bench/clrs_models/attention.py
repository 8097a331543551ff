"""Pairs of nodes attend to the pairs that lead from one to the other, as in a transformer."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, hidden: int, heads: int, rounds: int) -> None:
        super().__init__()
        self.heads = heads
        self.encode = nn.Linear(3, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(rounds))
        self.norm = nn.LayerNorm(hidden)
        self.first = nn.Linear(hidden, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.logit = nn.Linear(hidden, 1)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        same = torch.eye(weights.shape[1]).expand_as(weights)
        known = self.encode(torch.stack([weights, (weights > 0).float(), same], dim=3))
        state = known
        for layer in self.layers:
            state = layer(state)
        first = self.first(self.norm(state))[:, :, None]
        second = self.second(known).transpose(1, 2)[:, None]
        return self.logit(torch.relu(first + second)).squeeze(4)


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.asked = nn.Linear(hidden, heads)
        self.offered = nn.Linear(hidden, heads)
        self.said = nn.Linear(hidden, hidden)
        self.mix = nn.Linear(hidden, hidden)
        self.feed = nn.Sequential(
            nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU(),
            nn.Linear(2 * hidden, hidden),
        )  # fmt: skip

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        normed = self.norm(state)
        scores = self.asked(normed)[:, :, None] + self.offered(normed).transpose(1, 2)[:, None]
        shares = torch.softmax(scores, dim=3)  # graph, i, j, k, head
        said = self.said(normed).unflatten(3, (shares.shape[4], -1))
        heard = torch.einsum("gijkh,gikhf->gijhf", shares, said).flatten(3)
        state = state + self.mix(heard)
        return state + self.feed(state)
