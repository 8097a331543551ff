# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network on pairs of nodes with several modes; it learns what to add up along an edge.

Every pair (i, j) has a number for each mode. In each round it hears, for each mode, the largest sum
of what a pair (i, k) says in any mode and of what the edge from k to j makes of it. The node k with
the largest sum is pointed at. How a way begins, what is said, how much an edge adds and which modes
it joins are learnt weights.
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, lengths: list[int], marks: list[int], modes: int, rounds: int, unit: float):
        super().__init__()
        self.lengths, self.marks, self.modes = lengths, marks, modes
        self.rounds, self.unit = rounds, unit
        inputs = len(lengths) + 4 * len(marks) + 2
        self.begin = nn.Linear(inputs, modes)
        self.say = nn.Linear(modes, modes)
        self.edge = nn.Linear(inputs, modes * modes)
        self.sharpness = nn.Parameter(torch.tensor(2.0))
        nn.init.eye_(self.say.weight)  # at first, modes do not mix
        nn.init.zeros_(self.say.bias)
        # At first every edge is nearly free, so that training sees what is too good to be true.
        nn.init.normal_(self.edge.weight, std=0.05)
        nn.init.zeros_(self.edge.bias)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Logits [graph, i, j, k]: how much k looks like the node before j on the way from i."""
        known = self.describe(weights)
        state = self.begin(known)
        for _ in range(self.rounds):
            state = self.step(known, state)
        return self.logits(known, state)

    def describe(self, weights: torch.Tensor) -> torch.Tensor:
        """What is known of a pair: its edge's lengths and marks, if there is one; if i is j."""
        there = (weights[..., 4] > 0).float()
        same = torch.eye(weights.shape[1], device=weights.device).expand_as(there)
        lengths = [weights[..., column] / self.unit for column in self.lengths]
        marks = [
            (weights[..., 4 + column] == mark).float()
            for column in self.marks
            for mark in (1, 2, 3, 4)
        ]
        return torch.stack([*lengths, *marks, there, same], dim=3)

    def sums(self, known: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """At [graph, i, j, mode at j, k, mode at k]: what is said of (i, k) and the edge to j."""
        edge = self.edge(known).unflatten(3, (self.modes, self.modes)).permute(0, 2, 3, 1, 4)
        return self.say(state)[:, :, None, None] + edge[:, None]

    def step(self, known: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.maximum(state, self.sums(known, state).amax(dim=(4, 5)))

    def logits(self, known: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return (self.sums(known, state) * self.sharpness.exp()).logsumexp(dim=(3, 5))
