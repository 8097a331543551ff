"""A network for all sources with heads of each source's own, then its features beside descriptors."""

import os

import described
import numpy as np
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0")) % 2**31
NETWORKS = 1
EPOCHS = 9
BATCH = 48
OUTPUTS = 17  # five genera, two species, ten classes


class Network(nn.Module):
    """Three convolutions; what is shared by all sources and what is a source's own are added."""

    def __init__(self, sources: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            *(nn.Conv2d(3, 20, 5, padding=2), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(20, 40, 3, padding=1), nn.BatchNorm2d(40), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(40, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()),
        )
        self.squeeze = nn.Sequential(nn.Linear(64 * 5 + 6, 96), nn.BatchNorm1d(96), nn.ReLU())
        self.shared = nn.Linear(96, OUTPUTS)
        self.own = nn.Parameter(torch.zeros(sources, 96, OUTPUTS))

    def features(self, images: torch.Tensor) -> torch.Tensor:
        maps = self.trunk(images)
        pooled = functional.adaptive_avg_pool2d(maps, 2).flatten(1)
        colours = torch.cat([images.mean((2, 3)), images.std((2, 3))], 1)
        return self.squeeze(torch.cat([pooled, maps.amax((2, 3)), colours], 1))

    def forward(self, images: torch.Tensor, sources: torch.Tensor) -> torch.Tensor:
        hidden = self.features(images)
        dropped = functional.dropout(hidden, 0.2, self.training)
        own = torch.bmm(dropped[:, None], self.own[sources])[:, 0]
        return self.shared(dropped) + own


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    data = described.load()
    images, test = as_tensors(data)
    described_train, described_test = described.describe(data.images), described.describe(data.test)
    own = data.own
    folds = list(StratifiedKFold(5, shuffle=True, random_state=SEED).split(own, data.labels[own]))
    totals: list[np.ndarray] = []
    right = []
    for known, hidden in folds[:NETWORKS]:
        network = fit(data, images, np.setdiff1d(np.arange(len(images)), own[hidden]))
        train_features = np.hstack([features_of(network, images[own]), described_train[own]])
        test_features = np.hstack([features_of(network, test), described_test])
        stacked = np.vstack([train_features[hidden], test_features])
        looked = torch.cat([images[own[hidden]], test])
        logs = network_logs(network, looked, data)
        logs = logs + 0.5 * own_logs(data, train_features[known], data.labels[own[known]], stacked)
        right.append(logs[: len(hidden)].argmax(1) == data.labels[own[hidden]])
        logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
        totals.append(logs[len(hidden) :])
    print(f"validation accuracy={np.concatenate(right).mean():.4f}")
    described.write(np.mean(totals, axis=0))


def as_tensors(data: described.Data) -> tuple[torch.Tensor, torch.Tensor]:
    mean = data.images.mean(axis=(0, 1, 2))
    spread = data.images.std(axis=(0, 1, 2)) + 1
    pairs = [
        ((images - mean) / spread).transpose(0, 3, 1, 2) for images in (data.images, data.test)
    ]
    train, test = (torch.from_numpy(np.ascontiguousarray(pair)).float() for pair in pairs)
    return train, test


def fit(data: described.Data, images: torch.Tensor, rows: np.ndarray) -> Network:
    """Trains on these rows; the tested source's are seen three times an epoch."""
    names, numbers = np.unique(data.sources, return_inverse=True)
    sources, labels = torch.from_numpy(numbers), torch.from_numpy(data.labels)
    genus, species = torch.from_numpy(data.genus), torch.from_numpy(data.species)
    again = rows[data.sources[rows] == data.tested]
    rows = np.concatenate([rows, again, again])
    network = Network(len(names))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.02)
    steps = EPOCHS * (len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.from_numpy(rows)[torch.randperm(len(rows))]
        for batch in order[: len(rows) // BATCH * BATCH].split(BATCH):
            scores = network(shifted(images[batch]), sources[batch])
            truth = labels[batch]
            loss = functional.cross_entropy(scores[:, :5], genus[truth], label_smoothing=0.05)
            loss = loss + functional.cross_entropy(
                scores[:, 5:7], species[truth], label_smoothing=0.05
            )
            loss = loss + functional.cross_entropy(scores[:, 7:], truth, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    return network


def shifted(images: torch.Tensor) -> torch.Tensor:
    """The batch moved by up to two pixels."""
    down, across = torch.randint(0, 5, (2,)).tolist()
    padded = functional.pad(images, (2, 2, 2, 2), mode="reflect")
    return padded[:, :, down : down + described.SIZE, across : across + described.SIZE]


@torch.no_grad()
def features_of(network: Network, images: torch.Tensor) -> np.ndarray:
    return np.vstack([network.features(part).numpy() for part in images.split(200)])


@torch.no_grad()
def network_logs(network: Network, images: torch.Tensor, data: described.Data) -> np.ndarray:
    number = int(np.flatnonzero(np.unique(data.sources) == data.tested)[0])
    parts = []
    for part in images.split(200):
        parts.append(network(part, torch.full((len(part),), number)))
    scores = torch.cat(parts)
    cuts = {"genus": scores[:, :5], "species": scores[:, 5:7], "class": scores[:, 7:]}
    logs = {head: cut.log_softmax(1).numpy() for head, cut in cuts.items()}
    return described.joined(data, logs, 0.4)


def own_logs(
    data: described.Data, train: np.ndarray, labels: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """From the tested source's images alone: a linear model and trees on all features."""
    scaler = StandardScaler().fit(train)
    known, asked = (np.clip(scaler.transform(values), -4, 4) for values in (train, test))
    logs: dict[str, np.ndarray] = {}
    for head, meaning in data.heads().items():
        linear = LogisticRegression(C=0.01, max_iter=200).fit(known, meaning[labels])
        trees = ExtraTreesClassifier(
            150, min_samples_leaf=2, max_features=0.1, random_state=SEED, n_jobs=1
        ).fit(known, meaning[labels])
        guesses = (linear.predict_proba(asked) + trees.predict_proba(asked)) / 2
        logs[head] = np.log(0.97 * guesses + 0.03 / guesses.shape[1])
    return described.joined(data, logs, 0.3)


if __name__ == "__main__":
    main()
