# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Trains on windows around single animals, in colours freed from the dive's light.

The sea floor fills most of a picture, so its median colour is the colour of the light: in
logarithms, subtracting it undoes the light. A network of convolutions alone learns to name the one
animal in a window; shown a whole picture, it gives each category the best score of all places.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

VALIDATION_SHARE = 0.1
WINDOW_SHARE = 0.6
SHIFT_SHARE = 0.15
BATCH = 64
PEAK_RATE = 0.01
WEIGHT_DECAY = 5e-3
COLOUR_JITTER = 0.1
GUESSES = 20
PROFILE = os.environ.get("MLAGENTBENCH_PROFILE")
"""The hardware that the limits assume: cpu or gpu; None in the mini tier."""
FULL = {"cpu": {"image_size": 128, "epochs": 6}, "gpu": {"image_size": 256, "epochs": 11}}
SETTINGS = {"epochs": 11, **FULL.get(PROFILE, {})}
"""The image size is that of training.json where it is not here."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Pictures:
    """Images of one size, and the colour of the light in each."""

    def __init__(self, folder: str, rows: list[dict[str, str]], size: int) -> None:
        self.sizes = []
        pixels = np.empty((len(rows), 3, size, size), dtype=np.uint8)
        for n, row in enumerate(rows):
            with Image.open(Path(folder) / f"{row['id']}.png") as image:
                self.sizes.append(image.size)
                pixels[n] = np.asarray(image.convert("RGB").resize((size, size))).transpose(2, 0, 1)
        self.pixels = torch.from_numpy(pixels)
        light = np.median(pixels.reshape(len(rows), 3, -1), axis=2)
        self.light = logarithm(torch.from_numpy(light).float())[:, :, None, None]

    def windows(self, places: torch.Tensor, corners: torch.Tensor, side: int) -> torch.Tensor:
        """A square out of each of the images: corners are left, top."""
        span = torch.arange(side)
        rows, columns = corners[:, 1, None] + span, corners[:, 0, None] + span
        cut = self.pixels[places[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        return self.freed(cut.permute(0, 3, 1, 2), places)

    def freed(self, pixels: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return 1.5 * (logarithm(pixels.float()) - self.light[places])


def logarithm(pixels: torch.Tensor) -> torch.Tensor:
    return torch.log(pixels / 255 + 0.05)


def build_network(categories: int, size: int) -> nn.Sequential:
    """Halves the picture until it is about 5 pixels wide, and scores each of the places left."""
    layers, inputs, width = [], 3, 16
    while size > 7:
        layers += convolution(inputs, width, halve=True)
        inputs, width, size = width, min(2 * width, 128), size // 2
    return nn.Sequential(*layers, *convolution(inputs, 96), nn.Conv2d(96, categories, 1))


def convolution(inputs: int, outputs: int, halve: bool = False) -> list[nn.Module]:
    """A convolution; halving comes before the rest, which then has less to do."""
    return [
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.MaxPool2d(2) if halve else nn.Identity(),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def main() -> None:
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    given = json.loads(Path("training.json").read_text())
    size = SETTINGS.get("image_size", given["image_size"])
    if size <= 64:
        torch.set_num_threads(1)
    train_rows, test_rows = read_rows("train.csv"), read_rows("test.csv")
    categories = [row["id"] for row in read_rows("category_key.csv")]
    validation = split_by_dive([row["dive"] for row in train_rows])

    pictures = Pictures("train_images", train_rows, size)
    animals = read_animals(train_rows, pictures.sizes, categories, size)
    network = build_network(len(categories), size)
    network.to(DEVICE, memory_format=torch.channels_last)
    train(network, pictures, animals[~validation[animals[:, 0]]], size)
    held = torch.arange(len(train_rows))[validation]
    labels = as_labels(train_rows, categories)[held]
    score = mean_average_precision(predict(network, pictures, held), labels)
    print(f"validation MAP@20={score:.4f}")

    pictures = Pictures("test_images", test_rows, size)
    scores = predict(network, pictures, torch.arange(len(test_rows)))
    write_submission([row["id"] for row in test_rows], categories, scores)


def read_rows(file: str) -> list[dict[str, str]]:
    with open(file, newline="") as handle:
        return list(csv.DictReader(handle))


def split_by_dive(dives: list[str]) -> torch.Tensor:
    """Which images belong to a random share of the dives."""
    names = sorted(set(dives))
    held = max(1, round(VALIDATION_SHARE * len(names)))
    chosen = {names[n] for n in torch.randperm(len(names))[:held]}
    return torch.tensor([dive in chosen for dive in dives])


def read_animals(
    rows: list[dict[str, str]], sizes: list[tuple[int, int]], categories: list[str], size: int
) -> torch.Tensor:
    """For each box the number of its image and of its category, and its middle in pixels."""
    place = {row["id"]: n for n, row in enumerate(rows)}
    column = {name: n for n, name in enumerate(categories)}
    animals = []
    for box in read_rows("train_boxes.csv"):
        image = place[box["id"]]
        width, height = sizes[image]
        x = (float(box["left"]) + float(box["width"]) / 2) * size / width
        y = (float(box["top"]) + float(box["height"]) / 2) * size / height
        animals.append([image, column[box["category"]], int(x), int(y)])
    return torch.tensor(animals)


def as_labels(rows: list[dict[str, str]], categories: list[str]) -> torch.Tensor:
    """One row per image, one column per category: 1 where it is there."""
    column = {name: place for place, name in enumerate(categories)}
    labels = torch.zeros(len(rows), len(categories))
    for row, image in enumerate(rows):
        labels[row, [column[name] for name in image["categories"].split()]] = 1
    return labels


def train(network: nn.Module, pictures: Pictures, animals: torch.Tensor, size: int) -> None:
    """AdamW; the learning rate rises to its peak and falls to nothing."""
    side, shift = round(WINDOW_SHARE * size), round(SHIFT_SHARE * size)
    optimizer = torch.optim.AdamW(network.parameters(), lr=PEAK_RATE, weight_decay=WEIGHT_DECAY)
    epochs = SETTINGS["epochs"]
    steps = epochs * len(torch.arange(len(animals)).split(BATCH))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for epoch in range(1, epochs + 1):
        losses = []
        for batch in torch.randperm(len(animals)).split(BATCH):
            images, classes, middles = animals[batch, 0], animals[batch, 1], animals[batch, 2:]
            corners = middles - side // 2 + torch.randint(-shift, shift + 1, middles.shape)
            windows = vary(pictures.windows(images, corners.clamp(0, size - side), side))
            scores = network(windows.to(DEVICE)).amax(dim=(2, 3))
            loss = functional.cross_entropy(scores, classes.to(DEVICE), label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}", flush=True)


def vary(windows: torch.Tensor) -> torch.Tensor:
    """Turned by quarters, mirrored, each a little off in its colours."""
    windows = torch.rot90(windows, int(torch.randint(4, ())), (2, 3))
    if torch.rand(()) < 0.5:
        windows = windows.flip(3)
    windows = windows + COLOUR_JITTER * torch.randn(len(windows), 3, 1, 1)
    return windows.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def predict(network: nn.Module, pictures: Pictures, places: torch.Tensor) -> torch.Tensor:
    """The best score of each category in an image, added to that in its mirror image."""
    network.eval()
    scores = []
    for part in places.split(50):
        images = pictures.freed(pictures.pixels[part], part).to(DEVICE)
        views = (images, images.flip(3))
        scores.append(sum(network(view).amax(dim=(2, 3)) for view in views).cpu())
    return torch.cat(scores)


def mean_average_precision(scores: torch.Tensor, labels: torch.Tensor) -> float:
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
