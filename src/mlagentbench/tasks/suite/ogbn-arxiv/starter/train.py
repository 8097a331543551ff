"""Trains a small network on the papers' features and predicts the field of the test papers.

Batches come with a sample of the papers around them and the citations between these, although the
network makes no use of them yet.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

CLASSES = 40
WIDTH = 16
HOPS, NEIGHBOURS = 2, 5
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Network(nn.Module):
    """Two linear layers; `edges` are not looked at."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(features, WIDTH)
        self.linear2 = nn.Linear(WIDTH, CLASSES)

    def forward(self, features: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return self.linear2(functional.relu(self.linear1(features)))


class NeighbourSampler:
    """Draws a small graph around some nodes; citations are followed in both directions."""

    def __init__(self, edges: torch.Tensor, nodes: int) -> None:
        both = torch.cat([edges, edges.flip(1)])
        both = both[both[:, 0].argsort(stable=True)]
        self.neighbours = both[:, 1]
        self.degree = torch.bincount(both[:, 0], minlength=nodes)
        self.start = self.degree.cumsum(0) - self.degree

    def sample(self, seeds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The nodes, seeds first, and the drawn edges between them as pairs of places."""
        frontier, known, drawn = seeds, seeds, []
        for _ in range(HOPS):
            linked = frontier[self.degree[frontier] > 0]
            places = (torch.rand(len(linked), NEIGHBOURS) * self.degree[linked, None]).long()
            found = self.neighbours[self.start[linked, None] + places]
            drawn.append(torch.stack([linked[:, None].expand_as(found), found], -1).view(-1, 2))
            frontier = found.unique()
            frontier = frontier[~torch.isin(frontier, known)]
            known = torch.cat([known, frontier])
        place = torch.zeros(len(self.degree), dtype=torch.long)
        place[known] = torch.arange(len(known))
        return known, place[torch.cat(drawn)]


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    settings = json.loads(Path("training.json").read_text())
    features, edges, nodes, labels, test = (
        torch.from_numpy(np.load(f"{name}.npy"))
        for name in ("node_features", "edges", "train_nodes", "train_labels", "test_nodes")
    )
    edges = edges.long()
    years = torch.from_numpy(np.load("node_years.npy"))[nodes]
    newest = years == years.max()  # the test papers are newer still

    network = Network(features.shape[1]).to(DEVICE)
    sampler = NeighbourSampler(edges, len(features))
    train(network, sampler, features, nodes[~newest], labels[~newest], settings)
    guesses = predict(network, features, edges)
    accuracy = (guesses[nodes[newest]] == labels[newest]).float().mean().item()
    print(f"validation accuracy={accuracy:.4f}")
    write_submission(test, guesses[test])


def train(
    network: nn.Module,
    sampler: NeighbourSampler,
    features: torch.Tensor,
    nodes: torch.Tensor,
    labels: torch.Tensor,
    settings: dict,
) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=settings["learning_rate"])
    for epoch in range(1, settings["epochs"] + 1):
        losses = []
        for batch in torch.randperm(len(nodes)).split(settings["batch_size"]):
            around, edges = sampler.sample(nodes[batch])
            optimizer.zero_grad()
            logits = network(features[around].to(DEVICE), edges.to(DEVICE))[: len(batch)]
            loss = functional.cross_entropy(logits, labels[batch].to(DEVICE))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}")


@torch.no_grad()
def predict(network: nn.Module, features: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """The most probable class of every node."""
    network.eval()
    return network(features.to(DEVICE), edges.to(DEVICE)).argmax(1).cpu()


def write_submission(nodes: torch.Tensor, labels: torch.Tensor) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["node", "label"])
        writer.writerows(zip(nodes.tolist(), labels.tolist(), strict=True))


if __name__ == "__main__":
    main()
