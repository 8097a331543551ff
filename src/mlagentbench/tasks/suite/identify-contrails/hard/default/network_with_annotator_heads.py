"""Aligns each annotator's masks; one network with a head for each annotator and the consensus."""

import os

import numpy as np
import torch
from line_profiles import Data, Lines, best_threshold, write_submission
from mask_alignment import aligned_masks
from torch import nn
from torch.nn import functional

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
EPOCHS = 14
CONSENSUS_WEIGHT = 3.0


class Heads(nn.Module):
    """What is shared is learnt from all; the consensus also mixes the annotators' answers."""

    def __init__(self, inputs: int, people: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1)
        )
        self.people = nn.Linear(32, people)
        self.own = nn.Linear(32, 1)
        self.mix = nn.Parameter(torch.full((people,), 1 / people))
        nn.init.zeros_(self.own.weight)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """(n, 1 + people) logits, the consensus first."""
        hidden = self.trunk(pixels)
        answers = self.people(hidden)
        consensus = self.own(hidden)[:, 0] + answers @ self.mix
        return torch.cat([consensus[:, None], answers], dim=1)


def main() -> None:
    torch.manual_seed(SEED)
    data = Data()
    lines = Lines(data)
    masks = aligned_masks(lines.lineness, data.masks, data.annotators)
    train, test = np.arange(data.count), np.arange(data.count, len(lines.features))
    chosen = lines.candidates
    pixels = lines.features[chosen]
    low, high = np.percentile(pixels[::10], [1, 99], axis=0)
    pixels = np.clip(pixels, low, high)
    pixels = torch.from_numpy((pixels - pixels.mean(0)) / (pixels.std(0) + 1e-6)).float()
    images = np.broadcast_to(np.arange(len(chosen))[:, None, None], chosen.shape)[chosen]
    people = int(data.annotators.max())
    heads = torch.from_numpy(data.annotators[images[images < data.count]].astype(np.int64))
    truth = torch.from_numpy(masks[chosen[train]].astype(np.float32))
    consensus = np.flatnonzero(data.annotators == 0)

    held = consensus[::2]
    use = torch.from_numpy(np.flatnonzero(~np.isin(images[images < data.count], held)))
    network = fit(pixels, truth, heads, use, people, EPOCHS // 2)
    guesses = lines.smoothed(chances(network, pixels, chosen)[held], held)
    print(f"validation dice={best_threshold(guesses, masks[held])[1]:.4f}")

    network = fit(pixels, truth, heads, torch.arange(len(truth)), people, EPOCHS)
    found = chances(network, pixels, chosen)
    threshold, _ = best_threshold(lines.smoothed(found[consensus], consensus), masks[consensus])
    write_submission(lines.smoothed(found[test], test) > threshold)


def fit(
    pixels: torch.Tensor,
    truth: torch.Tensor,
    heads: torch.Tensor,
    rows: torch.Tensor,
    people: int,
    epochs: int,
) -> Heads:
    network = Heads(pixels.shape[1], people)
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3, weight_decay=1e-2)
    steps = epochs * (len(rows) // 1024 + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=steps)
    for _ in range(epochs):
        for batch in rows[torch.randperm(len(rows))].split(1024):
            logits = network(pixels[batch]).gather(1, heads[batch][:, None])[:, 0]
            weights = torch.where(heads[batch] == 0, CONSENSUS_WEIGHT, 1.0)
            loss = functional.binary_cross_entropy_with_logits(logits, truth[batch], weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


@torch.no_grad()
def chances(network: Heads, pixels: torch.Tensor, chosen: np.ndarray) -> np.ndarray:
    """The consensus head's answer for all images."""
    out = np.zeros(chosen.shape, dtype=np.float32)
    out[chosen] = network(pixels)[:, 0].sigmoid().numpy()
    return out


if __name__ == "__main__":
    main()
