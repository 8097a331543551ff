# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Fine-tunes the DistilBERT checkpoint on the training reviews and predicts the test reviews."""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForSequenceClassification, AutoTokenizer

CHECKPOINT = "distilbert"
SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.05
LABEL_SMOOTHING = 0.1
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Recipe:
    epochs: int
    batch: int
    rate: float
    tokens: int
    """Longer texts are cut."""


OFFICIAL = Recipe(epochs=2, batch=16, rate=3e-5, tokens=384)
TINY = Recipe(epochs=2, batch=32, rate=1e-3, tokens=128)


def main() -> None:
    torch.manual_seed(SEED)
    model = AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=2)
    recipe = TINY if model.num_parameters() < 1e6 else OFFICIAL
    if recipe is TINY:
        torch.set_num_threads(1)  # the network is too small to be shared between cores
    model.to(DEVICE)
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    texts = tokenize(train["text"], recipe.tokens)
    labels = torch.tensor(train["sentiment"].to_numpy())
    order = torch.randperm(len(texts)).tolist()
    held = int(len(texts) * VALIDATION_SHARE)
    validation, fitting = order[:held], order[held:]

    fit(model, [texts[row] for row in fitting], labels[fitting], recipe)
    guesses = predict(model, [texts[row] for row in validation])
    print(f"validation accuracy={(guesses == labels[validation]).float().mean():.4f}")
    guesses = predict(model, tokenize(test["text"], recipe.tokens))
    submission = pd.DataFrame({"id": test["id"], "sentiment": guesses.numpy()})
    submission.to_csv("submission.csv", index=False)


def tokenize(texts: pd.Series, tokens: int) -> list[torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    found = tokenizer(texts.str.replace("<br />", " ").tolist(), truncation=True, max_length=tokens)
    return [torch.tensor(ids) for ids in found["input_ids"]]


def fit(model: nn.Module, texts: list[torch.Tensor], labels: torch.Tensor, recipe: Recipe) -> None:
    """AdamW; the learning rate rises to its peak and falls to nothing."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=0.01)
    steps = recipe.epochs * len(batches(texts, recipe.batch))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, total_steps=steps, pct_start=0.1
    )
    model.train()
    for epoch in range(1, recipe.epochs + 1):
        losses = []
        for rows in batches(texts, recipe.batch):
            logits = run(model, [texts[row] for row in rows])
            wanted = labels[rows].to(DEVICE)
            loss = functional.cross_entropy(logits, wanted, label_smoothing=LABEL_SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss={np.mean(losses):.4f}", flush=True)


def batches(texts: list[torch.Tensor], size: int) -> list[list[int]]:
    """Random batches of texts of nearly the same length, which need little padding."""
    lengths = torch.tensor([len(text) for text in texts], dtype=torch.float)
    order = (lengths * (1 + 0.1 * torch.rand(len(texts)))).argsort()
    parts = order.split(size)
    return [parts[place].tolist() for place in torch.randperm(len(parts))]


def run(model: nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    tokens = pad_sequence(texts, batch_first=True).to(DEVICE)
    attention = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
    with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
        return model(input_ids=tokens, attention_mask=attention.to(DEVICE)).logits.float()


@torch.no_grad()
def predict(model: nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    """The likelier sentiment of each text."""
    model.eval()
    guesses = torch.zeros(len(texts), dtype=torch.long)
    for rows in batches(texts, 64):
        guesses[rows] = run(model, [texts[row] for row in rows]).argmax(1).cpu()
    return guesses


if __name__ == "__main__":
    main()
