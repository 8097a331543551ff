# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A small U-Net on all masks, with turned and mirrored images; the consensus sets the threshold."""

import os

import numpy as np
import torch
from pixels import best_threshold, channels, dice, load, write_submission
from torch import nn
from torch.nn import functional

EPOCHS, BATCH, PEAK_RATE = 5, 8, 0.01
CONSENSUS_WEIGHT = 5
"""Records with a consensus mask are repeated so often."""


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fine = nn.Sequential(layer(3, 12), layer(12, 12))
        self.middle = nn.Sequential(layer(12, 24), layer(24, 24))
        self.coarse = nn.Sequential(layer(24, 32), layer(32, 24))
        self.up, self.last = layer(48, 12), nn.Conv2d(24, 1, 3, padding=1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        fine = self.fine(images)
        middle = self.middle(functional.max_pool2d(fine, 2))
        coarse = self.coarse(functional.max_pool2d(middle, 2))
        middle = self.up(torch.cat([functional.interpolate(coarse, scale_factor=2), middle], 1))
        return self.last(torch.cat([functional.interpolate(middle, scale_factor=2), fine], 1))[:, 0]


def layer(inputs: int, outputs: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def train(network: nn.Module, images: torch.Tensor, masks: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), PEAK_RATE)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            quarter = int(torch.randint(4, (1,)))
            seen, truth = (part[batch].rot90(quarter, (-2, -1)) for part in (images, masks))
            logits = network(seen)
            chances = logits.sigmoid()
            overlap = (2 * (chances * truth).sum() + 1) / (chances.sum() + truth.sum() + 1)
            loss = functional.binary_cross_entropy_with_logits(logits, truth) + 1 - overlap
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def main() -> None:
    images, masks, annotators, test = load()
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    rows = np.repeat(np.arange(len(images)), np.where(annotators == 0, CONSENSUS_WEIGHT, 1))
    seen = torch.from_numpy(channels(np.concatenate([images, test])))
    network = UNet()
    train(network, seen[rows], torch.from_numpy(masks[rows]).float())
    network.eval()
    with torch.no_grad():
        chances = torch.cat([network(part) for part in seen.split(50)]).sigmoid().numpy()
    agreed = np.flatnonzero(annotators == 0)
    limit = best_threshold(chances[agreed], masks[agreed])
    print(f"validation dice={dice(chances[agreed] > limit, masks[agreed]):.4f}")
    write_submission(chances[len(images) :] > limit)


if __name__ == "__main__":
    main()
