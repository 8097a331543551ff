# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A convolutional network on windows around the boxes, in the light of the dive.

It is trained on all dives and then, for a while, on surveys alone; a whole picture gets for each
category the best score of all places.
"""

import os

import numpy as np
import pandas as pd
import torch
from pictures import Data, balanced, mean_average_precision, write_submission
from torch import nn
from torch.nn import functional

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
WINDOW, SHIFT, BATCH = 16, 2, 64
EPOCHS, SURVEY_EPOCHS, RATE = 8, 6, 0.006


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    data = Data()
    seen = as_tensor(balanced(data.seen, data.train["dive"]))
    animals = read_animals(data)
    held = torch.from_numpy(data.folds(4)[0])
    surveys = torch.from_numpy(data.surveys())
    used = animals[~held[animals[:, 0]]]
    network = build(len(data.key))
    train(network, seen, used, EPOCHS)
    train(network, seen, used[surveys[used[:, 0]]], SURVEY_EPOCHS)
    score = mean_average_precision(predict(network, seen[held]), data.labels[held.numpy()])
    print(f"validation MAP@20={score:.4f}")
    unseen = as_tensor(balanced(data.unseen, data.test["dive"]))
    write_submission(data, predict(network, unseen))


def as_tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values).permute(0, 3, 1, 2).contiguous()


def read_animals(data: Data) -> torch.Tensor:
    """Of each box: the picture, the category, and the middle."""
    boxes = pd.read_csv("train_boxes.csv", dtype={"id": str, "category": str})
    place = {name: n for n, name in enumerate(data.train["id"])}
    column = {name: n for n, name in enumerate(data.key["id"])}
    x, y = boxes["left"] + boxes["width"] / 2, boxes["top"] + boxes["height"] / 2
    table = [boxes["id"].map(place), boxes["category"].map(column), x.astype(int), y.astype(int)]
    return torch.from_numpy(np.column_stack(table).astype(np.int64))


def build(categories: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs, pool in ((3, 24, 2), (24, 48, 2), (48, 64, 1)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.MaxPool2d(pool)]
        layers += [nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(64, categories, 1))


def train(network: nn.Module, pictures: torch.Tensor, animals: torch.Tensor, epochs: int) -> None:
    network.train()
    steps = epochs * len(torch.arange(len(animals)).split(BATCH))
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    span, last = torch.arange(WINDOW), pictures.shape[2] - WINDOW
    for _ in range(epochs):
        for batch in torch.randperm(len(animals)).split(BATCH):
            places, classes, middles = animals[batch, 0], animals[batch, 1], animals[batch, 2:]
            corners = middles - WINDOW // 2 + torch.randint(-SHIFT, SHIFT + 1, middles.shape)
            corners = corners.clamp(0, last)
            rows, columns = corners[:, 1, None] + span, corners[:, 0, None] + span
            cut = pictures[places[:, None, None], :, rows[:, :, None], columns[:, None, :]]
            cut = torch.rot90(cut.permute(0, 3, 1, 2), int(torch.randint(4, ())), (2, 3))
            loss = functional.cross_entropy(network(cut).amax(dim=(2, 3)), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


@torch.no_grad()
def predict(network: nn.Module, pictures: torch.Tensor) -> np.ndarray:
    network.eval()
    views = (pictures, pictures.flip(3))
    return sum(network(view).amax(dim=(2, 3)).softmax(dim=1) for view in views).numpy()


if __name__ == "__main__":
    main()
