# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network on pairs of nodes, which learns what to add up along two edges and what to keep.

Every pair (i, j) has a state. In each round it hears, feature by feature, the largest sum of what
the pairs (i, k) and (k, j) say, over all k. What is said, how it changes the state, and how the
states score a node k, are all learnt; nothing in here knows of lengths or of shortest paths.
"""

import torch
from torch import nn

INPUTS = 14


class Model(nn.Module):
    def __init__(self, hidden: int, features: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.encode = perceptron(INPUTS, hidden, hidden)
        self.say_first = nn.Linear(hidden, features)
        self.say_second = nn.Linear(hidden, features)
        self.change = perceptron(2 * hidden + features, hidden, hidden)
        self.length = nn.Linear(hidden, 1)
        self.score_pair = nn.Linear(hidden, 1)
        self.score_edge = perceptron(INPUTS, hidden, 1)
        self.sharpness = nn.Parameter(torch.tensor(1.5))

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Logits [graph, i, j, k]: how much k looks like the node before j on the way from i."""
        return self.logits(weights, self.states(weights)[-1])

    def states(self, weights: torch.Tensor) -> list[torch.Tensor]:
        """The pairs' states after each round."""
        known = self.encode(describe(weights))
        state, states = known, []
        for _ in range(self.rounds):
            heard = largest_sums(self.say_first(state), self.say_second(state))
            state = state + self.change(torch.cat([state, known, heard], dim=3))
            states.append(state)
        return states

    def logits(self, weights: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        pair = self.score_pair(state).squeeze(3)[:, :, None]
        edge = self.score_edge(describe(weights)).squeeze(3).transpose(1, 2)[:, None]
        return (pair + edge) * self.sharpness.exp()


def perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def describe(weights: torch.Tensor) -> torch.Tensor:
    """What is known of a pair: its edge's lengths and marks, if there is one; if i is j."""
    there = (weights[..., 4] > 0).float()
    same = torch.eye(weights.shape[1], device=weights.device).expand_as(there)
    size = weights[..., :4].sum(dim=(1, 2, 3)) / there.sum(dim=(1, 2)).clamp(min=1) / 4
    lengths = weights[..., :4] / size.clamp(min=1e-9)[:, None, None, None]
    marks = [(weights[..., 4 + c] == mark).float() for c in (0, 1) for mark in (1, 2, 3, 4)]
    return torch.cat([lengths, torch.stack([*marks, there, same], dim=3)], dim=3)


def largest_sums(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """max over k of first[i, k] + second[k, j]; gradients pass through the largest only."""
    first, second = first.permute(0, 3, 1, 2), second.permute(0, 3, 1, 2)
    with torch.no_grad():
        sums = first[:, :, :, None] + second.transpose(2, 3)[:, :, None].contiguous()
        best = sums.argmax(dim=4)
    return (first.gather(3, best) + second.gather(2, best)).permute(0, 2, 3, 1)
