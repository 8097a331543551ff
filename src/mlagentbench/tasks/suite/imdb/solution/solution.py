# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Fine-tunes the DistilBERT checkpoint on the training reviews and predicts the test reviews.

Without a GPU there is no time for all layers, long texts and all reviews: then a linear model of
words and word pairs, fitted to all reviews, has a say, too.
"""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
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
    layers: int | None = None
    """Of the checkpoint, from its input on; None for all."""
    reviews: int | None = None
    """For fine-tuning; None for all."""


TINY = Recipe(epochs=2, batch=32, rate=1e-3, tokens=128)
FULL = {
    "cpu": Recipe(epochs=1, batch=16, rate=1e-4, tokens=64, layers=3, reviews=5000),
    "gpu": Recipe(epochs=2, batch=16, rate=3e-5, tokens=384),
}
RECIPE = FULL.get(os.environ.get("MLAGENTBENCH_PROFILE"), TINY)
"""By the hardware that the limits assume; in the mini tier the variable is not set."""


def main() -> None:
    torch.manual_seed(SEED)
    if RECIPE is TINY:
        torch.set_num_threads(1)  # the network is too small to be shared between cores
    model = load_model().to(DEVICE)
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    texts = tokenize(train["text"])
    labels = torch.tensor(train["sentiment"].to_numpy())
    order = torch.randperm(len(texts)).tolist()
    held = int(len(texts) * VALIDATION_SHARE)
    validation, fitting = order[:held], order[held:]

    chosen = fitting[: RECIPE.reviews]
    fit(model, [texts[row] for row in chosen], labels[chosen])
    words = Words(train.iloc[fitting]) if RECIPE.reviews is not None else None
    held_out = train["text"].iloc[validation]
    guesses = guess(model, [texts[row] for row in validation], words, held_out)
    print(f"validation accuracy={(guesses == labels[validation]).float().mean():.4f}")
    guesses = guess(model, tokenize(test["text"]), words, test["text"])
    submission = pd.DataFrame({"id": test["id"], "sentiment": guesses.numpy()})
    submission.to_csv("submission.csv", index=False)


def load_model() -> nn.Module:
    cut = {} if RECIPE.layers is None else {"n_layers": RECIPE.layers}
    return AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=2, **cut)


class Words:
    """A linear model of words and word pairs."""

    def __init__(self, reviews: pd.DataFrame) -> None:
        counted = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
        self.model = make_pipeline(counted, LogisticRegression(C=10.0, max_iter=300))
        self.model.fit(reviews["text"], reviews["sentiment"])

    def log_odds(self, texts: pd.Series) -> torch.Tensor:
        return torch.from_numpy(self.model.decision_function(texts)).float()


def tokenize(texts: pd.Series) -> list[torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    plain = texts.str.replace("<br />", " ").tolist()
    found = tokenizer(plain, truncation=True, max_length=RECIPE.tokens)
    return [torch.tensor(ids) for ids in found["input_ids"]]


def fit(model: nn.Module, texts: list[torch.Tensor], labels: torch.Tensor) -> None:
    """AdamW; the learning rate rises to its peak and falls to nothing."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RECIPE.rate, weight_decay=0.01)
    steps = RECIPE.epochs * len(batches(texts, RECIPE.batch))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RECIPE.rate, total_steps=steps, pct_start=0.1
    )
    model.train()
    for epoch in range(1, RECIPE.epochs + 1):
        losses = []
        for rows in batches(texts, RECIPE.batch):
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


def guess(
    model: nn.Module, tokens: list[torch.Tensor], words: Words | None, texts: pd.Series
) -> torch.Tensor:
    """The likelier sentiment of each text."""
    found = log_odds(model, tokens)
    return ((found if words is None else found + words.log_odds(texts)) > 0).long()


@torch.no_grad()
def log_odds(model: nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    model.eval()
    found = torch.zeros(len(texts))
    for rows in batches(texts, 64):
        logits = run(model, [texts[row] for row in rows]).cpu()
        found[rows] = logits[:, 1] - logits[:, 0]
    return found


if __name__ == "__main__":
    main()
