# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Signs of aspects by eigenvectors of who is praised with whom, chosen and turned by six labels."""

import re

import numpy as np
import pandas as pd
from adjectives import BAD, GOOD

FRAMES = ("not only", "scarcely less", "never less", "hardly")
CANDIDATES = 3


def parse(text):
    """Triples of what is judged, how the sentence is turned, and +1 for praise or -1."""
    found = []
    for sentence in re.split(r"[.!?]", str(text).lower()):
        words = re.findall("[a-z]+", sentence)
        if "the" not in words[:-1] or (words[-1] not in GOOD and words[-1] not in BAD):
            continue
        frame = next((f for f in FRAMES if f in sentence), "plain")
        found.append((words[words.index("the") + 1], frame, 1.0 if words[-1] in GOOD else -1.0))
    return found


KEYS = (
    lambda aspect, frame: aspect,
    lambda aspect, frame: (aspect, frame == "plain"),
    lambda aspect, frame: (aspect, frame),
)


def table(parsed, key):
    """Centred praise per review and cell, and the number of sentences there."""
    names = sorted({key(a, f) for triples in parsed for a, f, _ in triples})
    place = {name: i for i, name in enumerate(names)}
    signed, number = np.zeros((2, len(parsed), len(names)))
    for row, triples in enumerate(parsed):
        for aspect, frame, praise in triples:
            signed[row, place[key(aspect, frame)]] += praise
            number[row, place[key(aspect, frame)]] += 1
    mean = signed.sum(axis=0) / np.maximum(number.sum(axis=0), 1)
    return signed - number * mean, number


def factors(parsed, key):
    """Strength and scores of the leading ways in which judgements go together."""
    signed, number = table(parsed, key)
    total = number.sum(axis=0) + 5.0
    together = signed.T @ signed
    np.fill_diagonal(together, 0.0)
    values, vectors = np.linalg.eigh(together / np.sqrt(np.outer(total, total)))
    leading = np.argsort(-values)[:CANDIDATES]
    scores = signed @ (vectors[:, leading] / np.sqrt(total)[:, None])
    scores = scores - np.median(scores, axis=0)
    return values[leading], scores / (scores.std(axis=0) + 1e-9)


def score(texts, labelled, sentiment):
    """Score of each text, around 0; the average over coarse and fine cells."""
    parsed = [parse(text) for text in texts]
    direction = 2.0 * np.asarray(sentiment) - 1.0
    combined = np.zeros(len(texts))
    for key in KEYS:
        values, scores = factors(parsed, key)
        evidence = direction @ np.clip(scores[labelled], -1, 1) / len(direction)
        strength = np.maximum(values, 0) / max(values.max(), 1e-9)
        pick = int(np.argmax(strength + np.abs(evidence)))
        combined += scores[:, pick] * evidence[pick] * strength[pick]
    return combined - np.median(combined)


def main():
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    unlabelled = pd.read_csv("unlabelled.csv")
    target = test["genre"].iloc[0]
    rng = np.random.default_rng(0)

    hits = []
    for _, part in train[train["genre"] != target].groupby("genre"):
        truth, texts = part["sentiment"].to_numpy(), part["text"].tolist()
        for _ in range(5):
            order = rng.permutation(len(part))
            scores = score(texts, order[:6], truth[order[:6]])
            hits.append(((scores[order[6:]] > 0) == (truth[order[6:]] == 1)).mean())
    print(f"validation accuracy={np.mean(hits):.4f}")

    known = train[train["genre"] == target]
    texts = known["text"].tolist() + unlabelled["text"].tolist() + test["text"].tolist()
    scores = score(texts, np.arange(len(known)), known["sentiment"].to_numpy())
    sentiment = (scores[-len(test) :] > 0).astype(int)
    pd.DataFrame({"id": test["id"], "sentiment": sentiment}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
