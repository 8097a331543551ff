# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains a small U-Net on differences of bands, on turned and mirrored images."""

import csv
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

VALIDATION_SHARE = 0.1
WIDTHS = (16, 32, 32)
EPOCHS, BATCH, PEAK_RATE, WEIGHT_DECAY = 12, 8, 0.01, 1e-3
THRESHOLDS = np.linspace(0.2, 0.8, 25)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class UNet(nn.Module):
    """Down in three steps and up again, with the finer pictures handed across.

    Four neighbouring pixels are four channels of one: a quarter of the work.
    """

    def __init__(self) -> None:
        super().__init__()
        fine, middle, coarse = WIDTHS
        self.down1 = nn.Sequential(layer(12, fine), layer(fine, fine))
        self.down2 = nn.Sequential(layer(fine, middle), layer(middle, middle))
        self.bottom = nn.Sequential(layer(middle, coarse), layer(coarse, coarse))
        self.up2, self.up1 = layer(coarse + middle, middle), layer(middle + fine, fine)
        self.last = nn.Conv2d(fine, 4, kernel_size=1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        first = self.down1(functional.pixel_unshuffle(images, 2))
        second = self.down2(functional.max_pool2d(first, 2))
        third = self.bottom(functional.max_pool2d(second, 2))
        second = self.up2(torch.cat([functional.interpolate(third, scale_factor=2), second], 1))
        first = self.up1(torch.cat([functional.interpolate(second, scale_factor=2), first], 1))
        return functional.pixel_shuffle(self.last(first), 2)[:, 0]


def layer(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


def main() -> None:
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    images = np.load("train_images.npy", mmap_mode="r")
    masks = np.load("train_masks.npy", mmap_mode="r")
    if images[0, ..., 0].size <= 64 * 64:
        torch.set_num_threads(1)  # images too small to be shared between cores
    order = torch.randperm(len(images)).numpy()
    held = max(1, int(len(images) * VALIDATION_SHARE))
    validation, training = order[:held], order[held:]

    network = UNet().to(DEVICE, memory_format=torch.channels_last)
    train(network, images, masks, training)
    chances = predict(network, images[validation])
    threshold = max(THRESHOLDS, key=lambda limit: dice(chances > limit, masks[validation]))
    print(f"validation dice={dice(chances > threshold, masks[validation]):.4f}")
    test = np.load("test_images.npy", mmap_mode="r")
    write_submission(predict(network, test) > threshold)


def as_tensor(images: np.ndarray) -> torch.Tensor:
    """Two differences of bands and one band, in comparable units, channels first."""
    b11, b14, b15 = torch.from_numpy(images.astype(np.float32) / 100).unbind(-1)
    channels = [b15 - b14 + 1.5, (b14 - b11 - 1) / 2, (b14 - 272) / 15]
    return torch.stack(channels, dim=1).to(memory_format=torch.channels_last)


def train(network: nn.Module, images: np.ndarray, masks: np.ndarray, rows: np.ndarray) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), PEAK_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * -(-len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    network.train()
    for epoch in range(1, EPOCHS + 1):
        losses = []
        for places in torch.randperm(len(rows)).split(BATCH):
            batch = rows[places.numpy()]
            truth = torch.from_numpy(masks[batch]).float()
            seen, truth = turned(as_tensor(images[batch]), truth)
            optimizer.zero_grad()
            loss = loss_of(network(seen.to(DEVICE)), truth.to(DEVICE))
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}", flush=True)


def turned(images: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch, turned by a random multiple of a right angle, and mirrored or not."""
    quarter, mirror = torch.randint(4, (1,)).item(), torch.randint(2, (1,)).item()
    images, masks = (values.rot90(quarter, (-2, -1)) for values in (images, masks))
    if mirror:
        images, masks = images.flip(-1), masks.flip(-1)
    return images.contiguous(memory_format=torch.channels_last), masks


def loss_of(logits: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, and what is missing to a Dice of 1."""
    chances = logits.sigmoid()
    overlap = (2 * (chances * truth).sum() + 1) / (chances.sum() + truth.sum() + 1)
    return functional.binary_cross_entropy_with_logits(logits, truth) + 0.5 * (1 - overlap)


@torch.no_grad()
def predict(network: nn.Module, images: np.ndarray) -> np.ndarray:
    """The chance of each pixel, averaged over the image and its mirror image."""
    network.eval()
    parts = []
    for some in np.array_split(images, -(-len(images) // 50)):
        seen = as_tensor(some).to(DEVICE)
        mirrored = network(seen.flip(-1)).flip(-1)
        parts.append((network(seen).sigmoid() + mirrored.sigmoid()).div(2).cpu().numpy())
    return np.concatenate(parts)


def dice(guesses: np.ndarray, masks: np.ndarray) -> float:
    """Of all pixels of all images together."""
    return float(2 * (guesses * masks).sum() / max(1, guesses.sum() + masks.sum()))


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


if __name__ == "__main__":
    main()
