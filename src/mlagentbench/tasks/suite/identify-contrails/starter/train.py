"""Trains a 1x1 convolution on false-colour images and marks the contrails of the test images."""

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


def main() -> None:
    torch.set_num_threads(1)  # the network is too small to be shared between cores
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    settings = json.loads(Path("training.json").read_text())
    images = np.load("train_images.npy", mmap_mode="r")
    masks = np.load("train_masks.npy", mmap_mode="r")
    order = torch.randperm(len(images)).numpy()
    held = int(len(images) * VALIDATION_SHARE)
    validation, training = order[:held], order[held:]

    network = nn.Conv2d(3, 2, kernel_size=1).to(DEVICE)
    train(network, images, masks, training, settings)
    guesses = [predict(network, images[row]) for row in validation]
    print(f"validation dice={dice(guesses, masks[validation]):.4f}")
    test = np.load("test_images.npy", mmap_mode="r")
    write_submission([predict(network, image) for image in test])


def false_colour(images: np.ndarray) -> torch.Tensor:
    """Hundredths of Kelvins, bands last, as colours from 0 to 1, channels first.

    Red is band 15 less band 14, green is band 14 less band 11, blue is band 14.
    """
    b11, b14, b15 = torch.from_numpy(images.astype(np.float32) / 100).unbind(-1)
    colours = [scale(b15 - b14, -4, 2), scale(b14 - b11, -4, 5), scale(b14, 243, 303)]
    return torch.stack(colours, dim=-3)


def scale(values: torch.Tensor, low: float, high: float) -> torch.Tensor:
    return ((values - low) / (high - low)).clamp(0, 1)


def train(
    network: nn.Module, images: np.ndarray, masks: np.ndarray, rows: np.ndarray, settings: dict
) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=settings["learning_rate"])
    weights = torch.tensor(settings["class_weights"], device=DEVICE)
    for epoch in range(1, settings["epochs"] + 1):
        losses = []
        for places in torch.randperm(len(rows)).split(settings["batch_size"]):
            batch = rows[places.numpy()]
            optimizer.zero_grad()
            logits = network(false_colour(images[batch]).to(DEVICE))
            truth = torch.from_numpy(masks[batch]).long().to(DEVICE)
            loss = functional.cross_entropy(logits, truth, weight=weights)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}")


@torch.no_grad()
def predict(network: nn.Module, image: np.ndarray) -> np.ndarray:
    """Which pixels are more likely contrail than not."""
    return network(false_colour(image)[None].to(DEVICE))[0].argmax(0).cpu().numpy()


def dice(guesses: list[np.ndarray], masks: np.ndarray) -> float:
    """Of all pixels of all images together."""
    marked = np.stack(guesses)
    return float(2 * (marked * masks).sum() / max(1, marked.sum() + masks.sum()))


def encode(mask: np.ndarray) -> str:
    """Runs of marked pixels: start and length, counted from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.ravel(), [0]])
    starts, ends = (np.flatnonzero(np.diff(flat) == step) for step in (1, -1))
    runs = (f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True))
    return " ".join(runs) or "-"


def write_submission(masks: list[np.ndarray]) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["record_id", "encoded_pixels"])
        writer.writerows([row, encode(mask)] for row, mask in enumerate(masks))


if __name__ == "__main__":
    main()
