"""Trains a small convolutional network on the images and ranks the categories of test images."""

import csv
import itertools
import json
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

VALIDATION_SHARE = 0.2
GUESSES = 20
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Network(nn.Module):
    """Four blocks of convolution and pooling, then a linear layer."""

    def __init__(self, categories: int) -> None:
        super().__init__()
        widths = [3, 8, 16, 32, 64]
        self.blocks = nn.Sequential(
            *(block(inputs, outputs) for inputs, outputs in itertools.pairwise(widths))
        )
        self.last = nn.Linear(widths[-1], categories)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(self.blocks(images).mean(dim=(2, 3)))


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


def main() -> None:
    torch.set_num_threads(1)  # a network as small as this gains nothing from more
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    settings = json.loads(Path("training.json").read_text())
    train_rows, test_rows = read_rows("train.csv"), read_rows("test.csv")
    categories = [row["id"] for row in read_rows("category_key.csv")]
    labels = as_labels(train_rows, categories)
    validation = split_by_dive([row["dive"] for row in train_rows])

    network = Network(len(categories)).to(DEVICE)
    images = read_images("train_images", train_rows, settings["image_size"])
    train(network, images[~validation], labels[~validation], settings)
    score = mean_average_precision(predict(network, images[validation]), labels[validation])
    print(f"validation MAP@20={score:.4f}")
    images = read_images("test_images", test_rows, settings["image_size"])
    write_submission([row["id"] for row in test_rows], categories, predict(network, images))


def read_rows(file: str) -> list[dict[str, str]]:
    with open(file, newline="") as handle:
        return list(csv.DictReader(handle))


def as_labels(rows: list[dict[str, str]], categories: list[str]) -> torch.Tensor:
    """One row per image, one column per category: 1 where it is there."""
    column = {name: place for place, name in enumerate(categories)}
    labels = torch.zeros(len(rows), len(categories))
    for row, image in enumerate(rows):
        labels[row, [column[name] for name in image["categories"].split()]] = 1
    return labels


def split_by_dive(dives: list[str]) -> torch.Tensor:
    """Which images belong to a random share of the dives: test images are of other dives, too."""
    names = sorted(set(dives))
    held = max(1, round(VALIDATION_SHARE * len(names)))
    chosen = {names[n] for n in torch.randperm(len(names))[:held]}
    return torch.tensor([dive in chosen for dive in dives])


def read_images(folder: str, rows: list[dict[str, str]], size: int) -> torch.Tensor:
    """All images in one size, as bytes, channels first."""
    pixels = np.empty((len(rows), size, size, 3), dtype=np.uint8)
    for n, row in enumerate(rows):
        with Image.open(Path(folder) / f"{row['id']}.png") as image:
            pixels[n] = image.convert("RGB").resize((size, size))
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def as_input(images: torch.Tensor) -> torch.Tensor:
    return images.to(DEVICE).float().div_(127.5).sub_(1)


def train(network: nn.Module, images: torch.Tensor, labels: torch.Tensor, settings: dict) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=settings["learning_rate"])
    for epoch in range(1, settings["epochs"] + 1):
        losses = []
        for batch in torch.randperm(len(images)).split(settings["batch_size"]):
            logits = network(as_input(images[batch]))
            loss = functional.binary_cross_entropy_with_logits(logits, labels[batch].to(DEVICE))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}")


@torch.no_grad()
def predict(network: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """A score for each image and category: the higher, the likelier."""
    network.eval()
    return torch.cat([network(as_input(part)).cpu() for part in images.split(100)])


def mean_average_precision(scores: torch.Tensor, labels: torch.Tensor) -> float:
    """MAP@20 as problem.md defines it."""
    best = scores.argsort(dim=1, descending=True)[:, :GUESSES]
    hits = labels.gather(1, best)
    precision = hits.cumsum(1) / torch.arange(1, best.shape[1] + 1)
    possible = labels.sum(1).clamp(min=1, max=GUESSES)
    return ((precision * hits).sum(1) / possible).mean().item()


def write_submission(ids: list[str], categories: list[str], scores: torch.Tensor) -> None:
    best = scores.argsort(dim=1, descending=True)[:, :GUESSES].tolist()
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "categories"])
        for name, places in zip(ids, best, strict=True):
            writer.writerow([name, " ".join(categories[place] for place in places)])


if __name__ == "__main__":
    main()
