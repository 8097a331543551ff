# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Features of pixels: bands, differences, line filters; and what all recipes need."""

import csv

import numpy as np
import torch

ANGLES, REACH = 16, 8


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images, masks, annotators, and test images."""
    torch.set_num_threads(1)
    return (
        np.load("train_images.npy"),
        np.load("train_masks.npy"),
        np.load("train_annotators.npy"),
        np.load("test_images.npy"),
    )


def channels(images: np.ndarray) -> np.ndarray:
    """Both differences and the middle band, in comparable units; (images, 3, rows, columns)."""
    bands = images.astype(np.float32) / 100
    parts = [bands[..., 0] - bands[..., 1], bands[..., 2] - bands[..., 1], bands[..., 1] / 10]
    stacked = np.stack(parts, axis=1)
    return stacked - np.median(stacked, axis=(0, 2, 3), keepdims=True)


def line_filters() -> torch.Tensor:
    rows, columns = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1]
    found = []
    for angle in np.pi * np.arange(ANGLES) / ANGLES:
        along = columns * np.cos(angle) + rows * np.sin(angle)
        across = rows * np.cos(angle) - columns * np.sin(angle)
        ridge = (1 - across**2) * np.exp(-0.5 * across**2 - 0.5 * (along / 5) ** 2)
        ridge -= ridge.mean()
        found.append(ridge / np.linalg.norm(ridge))
    return torch.from_numpy(np.array(found, dtype=np.float32))[:, None]


def features(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features of every pixel, last axis, and the strength of the strongest line there."""
    seen = torch.from_numpy(channels(images))
    pad = torch.nn.functional.pad(seen[:, :2].flatten(0, 1)[:, None], [REACH] * 4, mode="reflect")
    found = torch.nn.functional.conv2d(pad, line_filters())
    found = found.reshape(len(images), 2, ANGLES, *seen.shape[2:])
    best = found.abs().amax(1).argmax(1)
    place = best[:, None, None].expand(-1, 2, 1, -1, -1)
    at_best = found.gather(2, place)[:, :, 0]
    strength = at_best.abs().amax(1)
    highest = torch.nn.functional.max_pool2d(strength[:, None], 5, stride=1, padding=2)[:, 0]
    level = seen[:, 2].mean((1, 2), keepdim=True).expand_as(strength)
    columns = [*seen.unbind(1), *at_best.unbind(1), found.amax((1, 2)), found.amin((1, 2))]
    columns += [best.float(), strength, strength / highest, level]
    return torch.stack(columns, dim=-1).numpy(), strength.numpy()


def dice(guesses: np.ndarray, masks: np.ndarray) -> float:
    """Of all pixels of all images together."""
    return float(2 * (guesses * masks).sum() / max(1, guesses.sum() + masks.sum()))


def best_threshold(chances: np.ndarray, masks: np.ndarray) -> float:
    limits = np.quantile(chances, 1 - np.geomspace(0.005, 0.5, 40))
    return float(max(limits, key=lambda limit: dice(chances > limit, masks)))


def encode(mask: np.ndarray) -> str:
    """Runs of marked pixels: start and length, counted from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.ravel(), [0]]).astype(np.int8)
    starts, ends = (np.flatnonzero(np.diff(flat) == step) for step in (1, -1))
    runs = (f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True))
    return " ".join(runs) or "-"


def write_submission(masks: np.ndarray) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["record_id", "encoded_pixels"])
        writer.writerows([row, encode(mask)] for row, mask in enumerate(masks))
