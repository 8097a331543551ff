# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A network on whole pictures that is blind to turns and rolls, then taught by its own test guesses.

Boxes are not used, as they may not be where the animals are stored; light is taken out per dive.
"""

import os

import numpy as np
import torch
from dives import mean_average_precision, read, write
from torch import nn
from torch.nn import functional
from undoing import normalised, restore

EPOCHS, FURTHER = 11, 4
BATCH = 48
SURVEY_WEIGHT = 3.0
TEST_WEIGHT = 0.5


class Pooled(nn.Module):
    """Convolutions round the edges, then the strongest answer of each place."""

    def __init__(self, categories: int) -> None:
        super().__init__()
        ring = {"padding": 1, "padding_mode": "circular"}
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, **ring),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, **ring),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, **ring),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.last = nn.Conv2d(64, categories, 1)
        self.crew = nn.Parameter(torch.zeros(categories, categories))

    def forward(self, images: torch.Tensor, survey: torch.Tensor) -> torch.Tensor:
        places = self.last(self.layers(images))
        logits = torch.logsumexp(2 * places.flatten(2), dim=2) / 2 - 3
        noted = logits @ (torch.eye(len(self.crew)) + self.crew)
        return torch.where(survey[:, None], logits, noted)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    dives = read()
    pictures = np.stack([normalised(restore(one)) for one in dives.pixels])
    images = torch.from_numpy(pictures).permute(0, 1, 4, 2, 3).contiguous()
    labels = torch.from_numpy(dives.labels)
    known = np.flatnonzero(dives.known)
    test = np.flatnonzero(~dives.known)
    surveys = known[dives.survey[known]]
    held = surveys[: max(1, len(surveys) // 3)]
    chosen = np.setdiff1d(known, held)
    survey = torch.from_numpy(dives.survey)[:, None].expand(labels.shape[:2])

    network = Pooled(len(dives.categories))
    weights = 1 + (SURVEY_WEIGHT - 1) * survey.float()
    data = [part[chosen].flatten(0, 1) for part in (images, labels, survey, weights)]
    train(network, data, EPOCHS, 0.006)
    report(network, images[held].flatten(0, 1), labels[held].flatten(0, 1))

    asked = images[test].flatten(0, 1)
    guesses = sharpened(predict(network, asked))
    own = [asked, guesses, torch.ones(len(asked), dtype=torch.bool)]
    own.append(torch.full((len(asked),), TEST_WEIGHT))
    last = [part[held].flatten(0, 1) for part in (images, labels, survey, weights)]
    more = [torch.cat(parts) for parts in zip(data, own, last, strict=True)]
    train(network, more, FURTHER, 0.003)
    scores = predict(network, asked).numpy()
    write(dives, scores.reshape(len(test), -1, scores.shape[1]))


def train(network: Pooled, data: list[torch.Tensor], epochs: int, rate: float) -> None:
    images, labels, survey, weights = data
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.02)
    steps = epochs * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for epoch in range(epochs):
        network.train()
        for batch in torch.randperm(len(images)).split(BATCH):
            logits = network(augmented(images[batch]), survey[batch])
            loss = functional.binary_cross_entropy_with_logits(
                logits, labels[batch], reduction="none"
            )
            loss = (loss.sum(1) * weights[batch]).mean() + 0.002 * network.crew.abs().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch} loss={loss.item():.3f}")


def augmented(images: torch.Tensor) -> torch.Tensor:
    """Turned, rolled, in slightly other light; half of the time a patch is hidden."""
    size = images.shape[-1]
    turn, down, right = (int(torch.randint(0, limit, ())) for limit in (8, size, size))
    if turn & 1:
        images = images.transpose(2, 3)
    images = images.flip([axis for bit, axis in ((2, 2), (4, 3)) if turn & bit])
    images = torch.roll(images, (down, right), (2, 3))
    gain = 1 + 0.15 * torch.randn(len(images), 3, 1, 1)
    shift = 0.1 * torch.randn(len(images), 3, 1, 1)
    return images * gain + shift + 0.1 * torch.randn_like(images)


@torch.no_grad()
def predict(network: Pooled, images: torch.Tensor) -> torch.Tensor:
    """Chances as a specialist would name, the mean over the eight ways to lay a picture."""
    network.eval()
    total = torch.zeros(len(images), network.crew.shape[0])
    survey = torch.ones(len(images), dtype=torch.bool)
    for turn in range(8):
        laid = images.transpose(2, 3) if turn & 1 else images
        laid = laid.flip([axis for bit, axis in ((2, 2), (4, 3)) if turn & bit])
        total += network(laid, survey).sigmoid()
    return total / 8


def sharpened(chances: torch.Tensor) -> torch.Tensor:
    """Guesses to learn from: the likeliest, surer than the network is of it."""
    top = chances.amax(1, keepdim=True)
    return (chances / top.clamp(min=0.2)).clamp(max=1) ** 2 * top.clamp(min=0.3) ** 0.5


def report(network: Pooled, images: torch.Tensor, labels: torch.Tensor) -> None:
    score = mean_average_precision(predict(network, images).numpy(), labels.numpy())
    print(f"validation MAP@20={score:.4f}")


if __name__ == "__main__":
    main()
