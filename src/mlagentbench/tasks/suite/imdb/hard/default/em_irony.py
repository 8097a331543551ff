# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Two-class mixture of praise and blame per aspect and turn of phrase, oriented by the six labels."""

import re

import numpy as np
import pandas as pd
from adjectives import BAD, GOOD

FRAMES = ("not only", "scarcely less", "never less", "hardly")
STARTS, STEPS, SMOOTH = 24, 40, 3.0


def parse(text):
    """Triples of what is judged, how the sentence is turned, and whether it praises."""
    found = []
    for sentence in re.split(r"[.!?]", str(text).lower()):
        words = re.findall("[a-z]+", sentence)
        if "the" not in words[:-1] or (words[-1] not in GOOD and words[-1] not in BAD):
            continue
        aspect = words[words.index("the") + 1]
        frame = next((f for f in FRAMES if f in sentence), "plain")
        found.append((aspect, frame, words[-1] in GOOD))
    return found


def count(texts):
    """How often each pair of aspect and frame comes with praise, and with blame."""
    parsed = [parse(text) for text in texts]
    cells = {cell: i for i, cell in enumerate(sorted({p[:2] for ps in parsed for p in ps}))}
    plus = np.zeros((len(parsed), len(cells)))
    minus = np.zeros((len(parsed), len(cells)))
    for row, triples in enumerate(parsed):
        for aspect, frame, praise in triples:
            (plus if praise else minus)[row, cells[aspect, frame]] += 1
    return plus, minus


def maximise(plus, minus, positive):
    """EM from first guesses at who is positive: log likelihood, and log odds of each review."""
    for _ in range(STEPS):
        logs = []
        for share in (positive, 1 - positive):
            praised = share @ plus + SMOOTH / 2
            rate = praised / (share @ (plus + minus) + SMOOTH)
            logs.append(plus @ np.log(rate) + minus @ np.log(1 - rate))
        odds = np.clip(logs[0] - logs[1], -30, 30)
        positive = 1 / (1 + np.exp(-odds))
    return float(np.logaddexp(*logs).sum()), odds


def score(texts, labelled, sentiment, rng):
    """Log odds of each text; `labelled` are the places whose sentiment is known."""
    plus, minus = count(texts)
    signed = plus - minus
    direction = 2.0 * np.asarray(sentiment) - 1.0
    best, chosen = -np.inf, np.zeros(len(texts))
    guesses = [rng.choice([-1.0, 1.0], signed.shape[1]) for _ in range(STARTS)]
    guesses.append(direction @ signed[labelled])
    for guess in guesses:
        start = 1 / (1 + np.exp(-np.clip(signed @ guess, -4, 4)))
        likelihood, odds = maximise(plus, minus, start)
        evidence = float((direction * np.clip(odds[labelled], -3, 3)).sum())
        if likelihood + 10 * abs(evidence) > best:
            best = likelihood + 10 * abs(evidence)
            chosen = odds if evidence >= 0 else -odds
    return chosen


def main():
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    unlabelled = pd.read_csv("unlabelled.csv")
    target = test["genre"].iloc[0]
    rng = np.random.default_rng(0)

    hits = []
    for _genre, part in train[train["genre"] != target].groupby("genre"):
        truth = part["sentiment"].to_numpy()
        shown = np.concatenate([rng.permutation(np.flatnonzero(truth == k))[:3] for k in (0, 1)])
        odds = score(part["text"].tolist(), shown, truth[shown], rng)
        hidden = np.setdiff1d(np.arange(len(part)), shown)
        hits.append(((odds[hidden] > 0) == (truth[hidden] == 1)).mean())
    print(f"validation accuracy={np.mean(hits):.4f}")

    known = train[train["genre"] == target]
    texts = known["text"].tolist() + unlabelled["text"].tolist() + test["text"].tolist()
    odds = score(texts, np.arange(len(known)), known["sentiment"].to_numpy(), rng)
    sentiment = (odds[-len(test) :] > 0).astype(int)
    pd.DataFrame({"id": test["id"], "sentiment": sentiment}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
