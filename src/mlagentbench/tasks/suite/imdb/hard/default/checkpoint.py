# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Fine-tunes the checkpoint on all labelled reviews; those of the tested genre weigh more."""

import os

import pandas as pd
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForSequenceClassification, AutoTokenizer

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
EPOCHS, BATCH, RATE, TARGET_WEIGHT = 4, 32, 1e-3, 10
VALIDATION_SHARE = 0.1


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    texts, labels = tokenize(train["text"]), torch.tensor(train["sentiment"].to_numpy())
    weights = (
        torch.tensor(train["genre"].isin(test["genre"]).to_numpy()) * (TARGET_WEIGHT - 1.0) + 1
    )
    order = torch.randperm(len(texts)).tolist()
    held = int(len(texts) * VALIDATION_SHARE)
    model = AutoModelForSequenceClassification.from_pretrained("distilbert", num_labels=2)
    fit(model, texts, labels, weights, order[held:])
    guesses = predict(model, [texts[row] for row in order[:held]])
    print(f"validation accuracy={(guesses == labels[order[:held]]).float().mean():.4f}")
    guesses = predict(model, tokenize(test["text"]))
    submission = pd.DataFrame({"id": test["id"], "sentiment": guesses.numpy()})
    submission.to_csv("submission.csv", index=False)


def tokenize(texts: pd.Series) -> list[torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained("distilbert")
    found = tokenizer(texts.tolist(), truncation=True, max_length=128)
    return [torch.tensor(ids) for ids in found["input_ids"]]


def fit(
    model: torch.nn.Module,
    texts: list[torch.Tensor],
    labels: torch.Tensor,
    weights: torch.Tensor,
    rows: list[int],
) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    steps = EPOCHS * -(-len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    model.train()
    for _ in range(EPOCHS):
        for places in torch.randperm(len(rows)).split(BATCH):
            batch = [rows[place] for place in places]
            losses = functional.cross_entropy(
                run(model, [texts[row] for row in batch]), labels[batch], reduction="none"
            )
            optimizer.zero_grad()
            (losses * weights[batch]).mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()


def run(model: torch.nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    mask = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
    return model(input_ids=pad_sequence(texts, batch_first=True), attention_mask=mask).logits


@torch.no_grad()
def predict(model: torch.nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    model.eval()
    parts = [texts[first : first + 64] for first in range(0, len(texts), 64)]
    return torch.cat([run(model, part).argmax(dim=1) for part in parts])


if __name__ == "__main__":
    main()
