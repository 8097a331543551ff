# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What the networks of the panel share: the data, a small network, its training, a submission."""

import csv
import os
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH, RATE = 64, 0.01
Vary = Callable[[torch.Tensor], torch.Tensor]


class Data:
    """The pictures and their sources; a random half of the tested source is held back."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
        self.images = as_tensor(np.load("train_images.npy"))
        self.labels = torch.from_numpy(np.load("train_labels.npy"))
        sources = torch.from_numpy(np.load("train_sources.npy"))
        self.own = sources == int(np.load("test_sources.npy")[0])
        self.test = as_tensor(np.load("test_images.npy"))
        own = torch.where(self.own)[0]
        self.held = own[torch.randperm(len(own))[: len(own) // 2]]
        self.kept = torch.ones(len(self.labels), dtype=torch.bool)
        self.kept[self.held] = False


def as_tensor(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(63.75).sub_(2)


def build_network(classes: int = 10, width: int = 16) -> nn.Sequential:
    layers: list[nn.Module] = []
    sizes = [3, width, 2 * width, 4 * width, 8 * width]
    for n, (inputs, outputs) in enumerate(pairwise(sizes)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)]
        layers += [nn.MaxPool2d(2)] if n < 3 else []
        layers += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    # Places are kept, in part: an average over the whole picture would lose them.
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32 * width, classes)
    )


def train(
    network: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    epochs: int,
    vary: Vary = lambda images: images,
    rate: float = RATE,
) -> None:
    """AdamW; pictures are drawn by their weights; the rate rises and falls to nothing."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=5e-4)
    steps = epochs * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    network.train()
    for _ in range(steps):
        batch = torch.multinomial(weights, BATCH, replacement=True)
        logits = network(vary(images[batch]))
        loss = functional.cross_entropy(logits, labels[batch], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


@torch.no_grad()
def predict(network: nn.Module, images: torch.Tensor) -> torch.Tensor:
    network.eval()
    return torch.cat([network(part).softmax(1) for part in images.split(500)])


def accuracy(probabilities: torch.Tensor, labels: torch.Tensor) -> float:
    return (probabilities.argmax(1) == labels).float().mean().item()


def mirror(images: torch.Tensor) -> torch.Tensor:
    half = len(images) // 2
    return torch.cat([images[:half].flip(3), images[half:]])


def shift(images: torch.Tensor) -> torch.Tensor:
    padded = functional.pad(images, (3, 3, 3, 3), mode="reflect")
    top, left = torch.randint(7, (2,)).tolist()
    return padded[:, :, top : top + 32, left : left + 32]


def turn(images: torch.Tensor) -> torch.Tensor:
    """Each picture turned by any angle."""
    angle = torch.rand(len(images)) * 2 * torch.pi
    zero = torch.zeros_like(angle)
    rows = [
        torch.stack([angle.cos(), -angle.sin(), zero], 1),
        torch.stack([angle.sin(), angle.cos(), zero], 1),
    ]
    grid = functional.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False, padding_mode="reflection")


def mix_colours(images: torch.Tensor) -> torch.Tensor:
    """Each picture's colours turned at random, and brightened or darkened."""
    mixture = torch.linalg.qr(torch.randn(len(images), 3, 3))[0]
    gain = 0.7 + 0.6 * torch.rand(len(images), 1, 1, 1)
    return gain * torch.einsum("ncij,nkc->nkij", images, mixture)


def write_submission(probabilities: np.ndarray | torch.Tensor) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *range(probabilities.shape[1])])
        for row, values in enumerate(probabilities.tolist()):
            writer.writerow([row, *(f"{value:.6f}" for value in values)])
