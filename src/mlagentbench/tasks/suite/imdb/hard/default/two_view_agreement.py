# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Learns what words say from two genres, then aspects of the third by halves of a review agreeing."""

import re

import numpy as np
import pandas as pd
import torch
from adjectives import BAD, GOOD
from torch.nn import functional

FRAMES = ("not only", "scarcely less", "never less", "hardly", "found", "for me", "seemed", "felt")
SENTENCES, RESTARTS = 9, 5


def parse(text):
    """Triples of aspect, turn of phrase and last word of the judging sentences."""
    found = []
    for sentence in re.split(r"[.!?]", str(text).lower()):
        words = re.findall("[a-z]+", sentence)
        if "the" not in words[:-1] or (words[-1] not in GOOD and words[-1] not in BAD):
            continue
        frame = next((f for f in FRAMES if f" {f} " in f" {sentence} "), "was")
        found.append((words[words.index("the") + 1], frame, words[-1]))
    return found[:SENTENCES]


class Reader:
    """Turns texts into padded tensors of places in three lists of words."""

    def __init__(self, texts):
        parsed = [p for text in texts for p in parse(text)]
        lists = [sorted({p[k] for p in parsed}) for k in range(3)]
        self.places = [{w: i for i, w in enumerate(words)} for words in lists]
        self.words = torch.tensor([1.0 if w in GOOD else -1.0 for w in lists[2]])

    def __call__(self, texts):
        index = torch.zeros(len(texts), SENTENCES, 3, dtype=torch.long)
        mask = torch.zeros(len(texts), SENTENCES)
        for row, text in enumerate(texts):
            for column, triple in enumerate(parse(text)):
                index[row, column] = torch.tensor([self.places[k][triple[k]] for k in range(3)])
                mask[row, column] = 1.0
        return index, mask


def judge(index, aspects, frames, words):
    """What each sentence adds to the sentiment."""
    return aspects[index[..., 0]] * frames[index[..., 1]] * words[index[..., 2]]


def agreement(first, second):
    first, second = first - first.mean(), second - second.mean()
    return (first * second).mean() / (first.std() * second.std() + 1e-6)


def learn_words(reader, parts):
    """Values of words and of turns of phrase that fit the labelled genres."""
    words = reader.words.clone().requires_grad_()
    frames = torch.ones(len(parts), len(reader.places[1])).requires_grad_()
    aspects = torch.zeros(len(parts), len(reader.places[0])).requires_grad_()
    optimizer = torch.optim.Adam([words, frames, aspects], lr=0.03)
    for _ in range(200):
        loss = 0.02 * ((words - reader.words) ** 2).sum() + 0.02 * ((frames - 1) ** 2).sum()
        loss = loss + 0.003 * (aspects**2).sum()
        for k, (index, mask, truth) in enumerate(parts):
            scores = (judge(index, aspects[k], frames[k], words) * mask).sum(1)
            loss = loss + functional.binary_cross_entropy_with_logits(scores, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return words.detach(), frames.detach().mean(0)


def adapt(index, mask, words, frames, labelled, truth, restarts):
    """Scores of all reviews of a genre of which few are labelled, around 0."""
    best, chosen = -np.inf, torch.zeros(len(mask))
    sign = 2 * truth - 1
    for restart in range(restarts):
        torch.manual_seed(restart)
        aspects = torch.randn(int(index[..., 0].max()) + 1).requires_grad_()
        turns = frames.clone().requires_grad_()
        optimizer = torch.optim.Adam([aspects, turns], lr=0.05)
        for _ in range(150):
            values = judge(index, aspects, turns, words) * mask
            half = (torch.rand_like(mask) < 0.5).float()
            few = values[labelled].sum(1)
            loss = -3 * agreement((values * half).sum(1), (values * (1 - half)).sum(1))
            loss = loss + 0.2 * functional.binary_cross_entropy_with_logits(few, truth)
            loss = loss + 0.002 * (aspects**2).sum() + 0.02 * ((turns - frames) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            values = judge(index, aspects, turns, words) * mask
            fit = 0.0
            for _ in range(10):
                half = (torch.rand_like(mask) < 0.5).float()
                fit += float(agreement((values * half).sum(1), (values * (1 - half)).sum(1))) / 10
            scores = values.sum(1)
            scores = (scores - scores.median()) / (scores.std() + 1e-6)
            evidence = float((sign * scores[labelled].clamp(-1, 1)).mean())
            if fit + 0.2 * abs(evidence) > best:
                best = fit + 0.2 * abs(evidence)
                chosen = scores if evidence >= 0 else -scores
    return chosen


def main():
    torch.set_num_threads(1)
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    unlabelled = pd.read_csv("unlabelled.csv")
    target = test["genre"].iloc[0]
    texts = {"train": train["text"], "unlabelled": unlabelled["text"], "test": test["text"]}
    reader = Reader([text for part in texts.values() for text in part])

    parts = []
    for _, part in train[train["genre"] != target].groupby("genre"):
        truth = torch.tensor(part["sentiment"].to_numpy(), dtype=torch.float32)
        parts.append((*reader(part["text"].tolist()), truth))
    rng = np.random.default_rng(0)
    hits = []
    for k, (index, mask, truth) in enumerate(parts):
        words, frames = learn_words(reader, [p for j, p in enumerate(parts) if j != k] or parts)
        order = torch.tensor(rng.permutation(len(truth)))
        shown, hidden = order[:6], order[6:]
        scores = adapt(index, mask, words, frames, shown, truth[shown], 2)
        hits.append(((scores[hidden] > 0) == (truth[hidden] == 1)).float().mean().item())
    print(f"validation accuracy={np.mean(hits):.4f}")

    words, frames = learn_words(reader, parts)
    known = train[train["genre"] == target]
    everything = known["text"].tolist() + unlabelled["text"].tolist() + test["text"].tolist()
    index, mask = reader(everything)
    truth = torch.tensor(known["sentiment"].to_numpy(), dtype=torch.float32)
    scores = adapt(index, mask, words, frames, torch.arange(len(known)), truth, RESTARTS)
    sentiment = (scores[-len(test) :] > 0).long().numpy()
    pd.DataFrame({"id": test["id"], "sentiment": sentiment}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
