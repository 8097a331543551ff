# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Networks that see a paper's features, those around it, its year, and its neighbours' fields.

The second network is told what the first one thinks of the unlabelled papers.
"""

import csv
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

CLASSES = 40
WIDTH, DROPOUT = 256, 0.5
STEPS, BATCH, PEAK_RATE, WEIGHT_DECAY = 300, 128, 0.01, 1e-3
YEARLY_WEIGHT = 1.15
"""A paper weighs so much more than one of the year before: test papers are like the newest."""


class Papers:
    def __init__(self) -> None:
        self.features = torch.from_numpy(np.load("node_features.npy"))
        self.nodes = torch.from_numpy(np.load("train_nodes.npy"))
        self.labels = torch.from_numpy(np.load("train_labels.npy"))
        self.years = torch.from_numpy(np.load("node_years.npy")).float()
        self.venues = torch.from_numpy(np.load("node_venues.npy")).long()
        edges = torch.from_numpy(np.load("edges.npy")).long()
        both, nodes = torch.cat([edges, edges.flip(1)]), len(self.features)
        ones = torch.ones(len(both))
        self.around = torch.sparse_coo_tensor(both.T, ones, (nodes, nodes)).coalesce()

    def mean_around(self, values: torch.Tensor) -> torch.Tensor:
        degree = self.around @ torch.ones(len(values), 1)
        return (self.around @ values) / degree.clamp(min=1)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    papers, test = Papers(), torch.from_numpy(np.load("test_nodes.npy"))
    years = papers.years[papers.nodes]
    newest = years == years.max()
    found = learn(papers, papers.nodes[~newest], papers.labels[~newest], rounds=1)
    hits = found[papers.nodes[newest]].argmax(1) == papers.labels[newest]
    print(f"validation accuracy={hits.float().mean():.4f}")
    guesses = learn(papers, papers.nodes, papers.labels, rounds=2)[test].argmax(1)
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["node", "label"])
        writer.writerows(zip(test.tolist(), guesses.tolist(), strict=True))


def learn(papers: Papers, nodes: torch.Tensor, labels: torch.Tensor, rounds: int) -> torch.Tensor:
    """The probability of each field for every node."""
    labelled = torch.zeros(len(papers.features), CLASSES)
    labelled[nodes] = functional.one_hot(labels, CLASSES).float()
    near = papers.mean_around(papers.features)
    parts = [papers.features, near, papers.mean_around(near), papers.years[:, None]]
    parts = [(part - part.mean(0)) / part.std(0) for part in parts]
    parts.append(functional.one_hot(papers.venues).float())
    known = labelled
    for _ in range(rounds):
        seen = torch.cat([*parts, 2 * torch.log1p(papers.around @ known)], dim=1)
        found = train(seen, papers, nodes, labels)
        known = torch.where(labelled.sum(1, keepdim=True) > 0, labelled, found)
    return found


def train(
    seen: torch.Tensor, papers: Papers, nodes: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """One network's probabilities for every node."""
    network = nn.Sequential(
        nn.Dropout(DROPOUT / 2),
        nn.Linear(seen.shape[1], WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, CLASSES),
    )
    optimizer = torch.optim.AdamW(network.parameters(), PEAK_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=STEPS)
    weights = YEARLY_WEIGHT ** (papers.years[nodes] - papers.years[nodes].max())
    for _ in range(STEPS):
        batch = torch.multinomial(weights, BATCH, replacement=True)
        optimizer.zero_grad()
        functional.cross_entropy(network(seen[nodes[batch]]), labels[batch]).backward()
        optimizer.step()
        schedule.step()
    network.eval()
    with torch.no_grad():
        return network(seen).softmax(1)


if __name__ == "__main__":
    main()
