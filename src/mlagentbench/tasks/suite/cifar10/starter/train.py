"""Trains a small convolutional network on CIFAR-10 and predicts the test images."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

VALIDATION_SHARE = 0.1
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Network(nn.Module):
    """Two convolutions with pooling, then three linear layers."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.linear1 = nn.Linear(16 * 5 * 5, 120)
        self.linear2 = nn.Linear(120, 84)
        self.linear3 = nn.Linear(84, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = functional.max_pool2d(functional.relu(self.conv1(images)), 2)
        hidden = functional.max_pool2d(functional.relu(self.conv2(hidden)), 2)
        hidden = functional.relu(self.linear1(hidden.flatten(1)))
        hidden = functional.relu(self.linear2(hidden))
        return self.linear3(hidden)


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    settings = json.loads(Path("training.json").read_text())
    images = as_tensor(np.load("train_images.npy"))
    labels = torch.from_numpy(np.load("train_labels.npy"))
    order = torch.randperm(len(images))
    held = int(len(images) * VALIDATION_SHARE)
    validation, training = order[:held], order[held:]

    network = Network().to(DEVICE)
    train(network, images[training], labels[training], settings)
    guesses = predict(network, images[validation]).argmax(1)
    accuracy = (guesses == labels[validation]).float().mean().item()
    print(f"validation accuracy={accuracy:.4f}")
    write_submission(predict(network, as_tensor(np.load("test_images.npy"))))


def as_tensor(images: np.ndarray) -> torch.Tensor:
    """Bytes, channels last, as numbers, channels first; each image has mean 0 and spread 1."""
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float()
    spread, mean = torch.std_mean(pixels, dim=(1, 2, 3), keepdim=True)
    return (pixels - mean) / (spread + 1)


def train(network: nn.Module, images: torch.Tensor, labels: torch.Tensor, settings: dict) -> None:
    optimizer: torch.optim.Optimizer
    if settings["optimizer"] == "adam":
        optimizer = torch.optim.Adam(network.parameters(), lr=settings["learning_rate"])
    else:
        optimizer = torch.optim.SGD(
            network.parameters(), lr=settings["learning_rate"], momentum=settings["momentum"]
        )
    for epoch in range(1, settings["epochs"] + 1):
        losses = []
        for batch in torch.randperm(len(images)).split(settings["batch_size"]):
            optimizer.zero_grad()
            logits = network(images[batch].to(DEVICE))
            loss = functional.cross_entropy(logits, labels[batch].to(DEVICE))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}")


@torch.no_grad()
def predict(network: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The probability of each class for each image."""
    network.eval()
    parts = [network(part.to(DEVICE)).softmax(1).cpu() for part in images.split(1000)]
    return torch.cat(parts)


def write_submission(probabilities: torch.Tensor) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *range(probabilities.shape[1])])
        for row, values in enumerate(probabilities.tolist()):
            writer.writerow([row, *(f"{value:.6f}" for value in values)])


if __name__ == "__main__":
    main()
