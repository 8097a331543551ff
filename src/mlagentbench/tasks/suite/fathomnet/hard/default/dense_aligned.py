# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A dense network on restored, aligned pictures; settings of dives and the crew's naming are fitted."""

import itertools
import os

import numpy as np
import torch
from dives import mean_average_precision, read, write
from torch import nn
from torch.nn import functional
from undoing import live, normalised, turned

EPOCHS, REFIT = 12, 6
CELL = 2  # pixels
ALIGNED = 0.12  # what stands out falls into the boxes
ORDERS = list(itertools.permutations(range(3)))
SURVEY_WEIGHT = 3.0


class Dense(nn.Module):
    """Logits of background and categories for each cell; wraps round, so that rolls do not matter."""

    def __init__(self, categories: int) -> None:
        super().__init__()
        ring = {"padding": 1, "padding_mode": "circular"}
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, **ring),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(CELL),
            nn.Conv2d(16, 32, 3, **ring),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 48, 3, **ring),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(48, categories + 1, 1),
        )
        self.naming = nn.Parameter(4.0 * torch.eye(categories))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images).softmax(1)

    def as_crew(self, cells: torch.Tensor) -> torch.Tensor:
        """Probabilities of what the crew would have noted."""
        noted = torch.einsum("nkhw,kj->njhw", cells[:, 1:], self.naming.softmax(1))
        return torch.cat([cells[:, :1], noted], dim=1)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    dives = read()
    pictures, fits, ways = live(dives)
    pictures = np.stack([normalised(one) for one in pictures])
    known = np.flatnonzero(dives.known)
    surveys = known[dives.survey[known]]
    held = surveys[: max(1, len(surveys) // 3)]
    turns = sorted({way[0] for way in ways})
    network = fit(dives, pictures, fits, np.setdiff1d(known, held))
    scores = predict(network, pictures[held], turns)
    score = mean_average_precision(
        scores.reshape(-1, scores.shape[-1]), dives.labels[held].reshape(-1, scores.shape[-1])
    )
    print(f"validation MAP@20={score:.4f}")
    write(dives, predict(network, pictures[~dives.known], turns))


def targets_of(dives, dive: int, size: int) -> torch.Tensor:
    """For each cell its category, counted from 1, 0 for background, -1 for what does not count."""
    targets = torch.zeros(len(dives.boxes[dive]), size, size, dtype=torch.long)
    for target, boxes in zip(targets, dives.boxes[dive], strict=True):
        for _, left, top, width, height in boxes:
            rows = slice(int(top // CELL), int((top + height - 1) // CELL) + 1)
            target[rows, int(left // CELL) : int((left + width - 1) // CELL) + 1] = -1
        for category, left, top, width, height in boxes:
            row, column = (top + height / 2) / CELL - 0.5, (left + width / 2) / CELL - 0.5
            for y in {int(np.floor(row)), int(np.ceil(row))}:
                for x in {int(np.floor(column)), int(np.ceil(column))}:
                    target[min(y, size - 1), min(x, size - 1)] = category + 1
    return targets


def fit(dives, pictures: np.ndarray, fits: np.ndarray, chosen: np.ndarray) -> Dense:
    network = Dense(len(dives.categories))
    size = pictures.shape[2] // CELL
    frames = pictures.shape[1]
    images = torch.from_numpy(pictures[chosen]).flatten(0, 1).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(dives.labels[chosen]).flatten(0, 1)
    targets = torch.cat([targets_of(dives, dive, size) for dive in chosen])
    aligned = torch.from_numpy(fits[chosen] > ALIGNED).repeat_interleave(frames)
    survey = torch.from_numpy(dives.survey[chosen]).repeat_interleave(frames)
    parts = (images, labels, targets, aligned, survey)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.005, weight_decay=0.01)
    steps = EPOCHS * -(-len(images) // 48)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.006, total_steps=steps)
    for epoch in range(EPOCHS):
        if epoch == REFIT:
            reorder(network, images, labels, survey, frames)
        network.train()
        for batch in torch.randperm(len(images)).split(48):
            loss = loss_of(network, *(part[batch] for part in parts))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch} loss={loss.item():.3f}")
    return network


def loss_of(network: Dense, images, labels, targets, aligned, survey) -> torch.Tensor:
    down, right = (int(n) * CELL for n in torch.randint(0, targets.shape[1], (2,)))
    images = torch.roll(images, (down, right), (2, 3))
    targets = torch.roll(targets, (down // CELL, right // CELL), (1, 2))
    gain = 1 + 0.1 * torch.randn(len(images), 3, 1, 1)
    cells = network(images * gain + 0.1 * torch.randn_like(images))
    cells = torch.where(survey[:, None, None, None], cells, network.as_crew(cells))
    weight = 1 + (SURVEY_WEIGHT - 1) * survey.float()
    whole = functional.binary_cross_entropy(any_of(cells), labels, reduction="none").sum(1)
    loss = (0.5 * whole * weight).mean()
    logs = cells.clamp(min=1e-6).log()
    dense = functional.nll_loss(logs, targets.clamp(min=0), reduction="none")
    dense = dense * aligned[:, None, None]
    animal = (targets > 0).float() * weight[:, None, None]
    empty = (targets == 0).float()
    loss = loss + (dense * animal).sum() / animal.sum().clamp(min=1)
    return loss + (dense * empty).sum() / empty.sum().clamp(min=1)


def any_of(cells: torch.Tensor) -> torch.Tensor:
    """The probability that a category is in at least one cell, where one animal fills four."""
    left = torch.log1p(-cells[:, 1:].clamp(max=1 - 1e-5)).sum((2, 3)) / 4
    return (1 - left.exp()).clamp(1e-6, 1 - 1e-6)


@torch.no_grad()
def reorder(network: Dense, images, labels, survey, frames: int) -> None:
    """The order of a dive's channels, so that the network so far understands it best."""
    network.eval()
    for start in range(0, len(images), frames):
        part = slice(start, start + frames)
        losses = []
        for order in ORDERS:
            cells = network(images[part][:, list(order)])
            cells = cells if survey[start] else network.as_crew(cells)
            losses.append(functional.binary_cross_entropy(any_of(cells), labels[part]).item())
        best = int(np.argmin(losses))
        if losses[best] < 0.93 * losses[0]:
            images[part] = images[part][:, list(ORDERS[best])].clone()


@torch.no_grad()
def predict(network: Dense, pictures: np.ndarray, turns: list[int]) -> np.ndarray:
    """Scores of dives; their turn and order of channels are those that make the network surest."""
    network.eval()
    found = []
    for dive in pictures:
        best = None
        for turn in turns:
            laid = torch.from_numpy(turned(dive, turn).copy()).permute(0, 3, 1, 2)
            for order in ORDERS:
                chances = any_of(network(laid[:, list(order)]))
                sure = chances.amax(1).log().mean().item()
                sure += 0.08 if order == ORDERS[0] and turn == turns[0] else 0.0
                if best is None or sure > best[0]:
                    best = (sure, chances)
        found.append(best[1].numpy())
    return np.stack(found)


if __name__ == "__main__":
    main()
