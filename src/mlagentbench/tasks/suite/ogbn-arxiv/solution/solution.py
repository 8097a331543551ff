# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Networks that see a paper's features, those around it, and the fields of its neighbours.

What the first networks think of the unlabelled papers is what their neighbours are told in the
second round.
"""

import csv
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

CLASSES = 40
WIDTH = 256
DROPOUT = 0.5
NETWORKS, ROUNDS = 2, 2
STEPS, BATCH = 300, 128
LARGE_STEPS, LARGE_BATCH, LARGE = 2000, 1024, 20_000
"""For graphs of that many nodes."""
PEAK_RATE, WEIGHT_DECAY = 0.01, 1e-3
YEARLY_WEIGHT = 1.15
"""A paper weighs so much more than one of the year before: test papers are like the newest."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Papers:
    """The graph, and what is known of its nodes."""

    def __init__(self) -> None:
        self.features = torch.from_numpy(np.load("node_features.npy"))
        self.nodes = torch.from_numpy(np.load("train_nodes.npy"))
        self.labels = torch.from_numpy(np.load("train_labels.npy"))
        self.years = torch.from_numpy(np.load("node_years.npy")).float()
        self.test = torch.from_numpy(np.load("test_nodes.npy"))
        edges = torch.from_numpy(np.load("edges.npy")).long()
        self.around = adjacency(torch.cat([edges, edges.flip(1)]), len(self.features))


def adjacency(edges: torch.Tensor, nodes: int) -> torch.Tensor:
    """A matrix that sums over neighbours."""
    ones = torch.ones(len(edges))
    return torch.sparse_coo_tensor(edges.T, ones, (nodes, nodes)).coalesce().to_sparse_csr()


def mean_around(papers: Papers, values: torch.Tensor) -> torch.Tensor:
    degree = papers.around @ torch.ones(len(values), 1)
    return (papers.around @ values) / degree.clamp(min=1)


def inputs(papers: Papers, known: torch.Tensor) -> torch.Tensor:
    """Features of a node, of its neighbours, of theirs; and the fields of its neighbours.

    `known` has a row of field probabilities per node, zeros where nothing is known.
    """
    near = mean_around(papers, papers.features)
    parts = [papers.features, near, mean_around(papers, near)]
    parts = [(part - part.mean(0)) / part.std(0) for part in parts]
    counts = papers.around @ known
    return torch.cat([*parts, 2 * torch.log1p(counts)], dim=1)


def main() -> None:
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    papers = Papers()
    if len(papers.features) <= LARGE:
        torch.set_num_threads(1)  # too little work to be shared between cores
    years = papers.years[papers.nodes]
    newest = years == years.max()
    probabilities = learn(papers, papers.nodes[~newest], papers.labels[~newest], rounds=1)
    guesses = probabilities[papers.nodes[newest]].argmax(1)
    accuracy = (guesses == papers.labels[newest]).float().mean().item()
    print(f"validation accuracy={accuracy:.4f}")
    probabilities = learn(papers, papers.nodes, papers.labels, ROUNDS)
    write_submission(papers.test, probabilities[papers.test].argmax(1))


def learn(papers: Papers, nodes: torch.Tensor, labels: torch.Tensor, rounds: int) -> torch.Tensor:
    """The probability of each field for every node."""
    labelled = torch.zeros(len(papers.features), CLASSES)
    labelled[nodes] = functional.one_hot(labels, CLASSES).float()
    known = labelled
    for _ in range(rounds):
        seen = inputs(papers, known)
        found = sum(train(seen, papers, nodes, labels) for _ in range(NETWORKS)) / NETWORKS
        known = torch.where(labelled.sum(1, keepdim=True) > 0, labelled, found)
    return found


def train(
    seen: torch.Tensor, papers: Papers, nodes: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """One network's probabilities for every node."""
    steps, size = (LARGE_STEPS, LARGE_BATCH) if len(seen) > LARGE else (STEPS, BATCH)
    network = nn.Sequential(
        nn.Dropout(DROPOUT / 2),
        nn.Linear(seen.shape[1], WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, CLASSES),
    ).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), PEAK_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    weights = YEARLY_WEIGHT ** (papers.years[nodes] - papers.years[nodes].max())
    seen, wanted = seen.to(DEVICE), labels.to(DEVICE)
    for _ in range(steps):
        batch = torch.multinomial(weights, size, replacement=True)
        optimizer.zero_grad()
        logits = network(seen[nodes[batch].to(DEVICE)])
        loss = functional.cross_entropy(logits, wanted[batch.to(DEVICE)])
        loss.backward()
        optimizer.step()
        schedule.step()
    network.eval()
    with torch.no_grad():
        return network(seen).softmax(1).cpu()


def write_submission(nodes: torch.Tensor, labels: torch.Tensor) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["node", "label"])
        writer.writerows(zip(nodes.tolist(), labels.tolist(), strict=True))


if __name__ == "__main__":
    main()
