# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains a convolutional network with batch normalisation on shifted and mirrored images."""

import csv
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional

VALIDATION_SHARE = 0.05
BATCH = 64
EPOCHS = 6
PEAK_RATE = 0.01
WEIGHT_DECAY = 5e-4
SHIFT = 3
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main() -> None:
    torch.set_num_threads(1)  # small batches are not worth sharing
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    images = as_tensor(np.load("train_images.npy"))
    labels = torch.from_numpy(np.load("train_labels.npy"))
    order = torch.randperm(len(images))
    held = int(len(images) * VALIDATION_SHARE)
    validation, training = order[:held], order[held:]

    network = build_network().to(DEVICE, memory_format=torch.channels_last)
    train(network, images[training], labels[training])
    guesses = predict(network, images[validation]).argmax(1)
    accuracy = (guesses == labels[validation]).float().mean().item()
    print(f"validation accuracy={accuracy:.4f}")
    write_submission(predict(network, as_tensor(np.load("test_images.npy"))))


def build_network(classes: int = 10) -> nn.Sequential:
    return nn.Sequential(
        *block(3, 16, pool=True),
        *block(16, 32, pool=True),
        *block(32, 64, pool=True),
        *block(64, 128, pool=False),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, classes),
    )


def block(inputs: int, outputs: int, pool: bool) -> list[nn.Module]:
    """A convolution; pooling comes before the rest, which then has less to do."""
    return [
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.MaxPool2d(2) if pool else nn.Identity(),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def as_tensor(images: np.ndarray) -> torch.Tensor:
    """Bytes, channels last, as numbers around 0, channels first."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(63.75).sub_(2)


def train(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """AdamW; the learning rate rises to its peak and falls to nothing."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=PEAK_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * len(torch.arange(len(images)).split(BATCH))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for epoch in range(1, EPOCHS + 1):
        losses = []
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            logits = network(vary(images[batch]).to(DEVICE))
            wanted = labels[batch].to(DEVICE)
            loss = functional.cross_entropy(logits, wanted, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}", flush=True)


def vary(images: torch.Tensor) -> torch.Tensor:
    """Half of the images mirrored, all of them shifted by a few pixels."""
    half = len(images) // 2
    images = torch.cat([images[:half].flip(3), images[half:]])
    padded = functional.pad(images, (SHIFT, SHIFT, SHIFT, SHIFT), mode="reflect")
    top, left = torch.randint(2 * SHIFT + 1, (2,)).tolist()
    return padded[:, :, top : top + 32, left : left + 32].contiguous(
        memory_format=torch.channels_last
    )


@torch.no_grad()
def predict(network: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The probability of each class, averaged over an image and its mirror image."""
    network.eval()
    parts = [
        (network(part).softmax(1) + network(part.flip(3)).softmax(1)).cpu() / 2
        for part in images.to(DEVICE).split(500)
    ]
    return torch.cat(parts)


def write_submission(probabilities: torch.Tensor) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *range(probabilities.shape[1])])
        for row, values in enumerate(probabilities.tolist()):
            writer.writerow([row, *(f"{value:.6f}" for value in values)])


if __name__ == "__main__":
    main()
