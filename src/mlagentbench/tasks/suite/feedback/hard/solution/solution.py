# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Every reading is put into the right columns and directions; one model learns from all of them.

The panel's essays then say how the model's answers translate into the panel's ratings; they are
the validation, too, in predictions of models that had not seen them.
"""

import json
import re
from collections import Counter

import numpy as np
import pandas as pd
from findings import aligned, find, fitted, unseen
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
COMPONENTS = 100
PENALTIES = [10.0, 30.0, 100.0, 300.0]
COUNTED = "because however although therefore also so but and then while since unless if when that"


def style(text: str) -> list[float]:
    """How an essay is written: lengths, variety, capitals, marks, joining words, slips."""
    words = re.findall(r"[A-Za-z']+", text)
    lower = [word.lower() for word in words]
    sentences = [part.strip() for part in re.split(r"[.!?]+", text) if part.strip()]
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    counts, n = Counter(lower), len(words)
    values = [
        np.log(n), np.log(len(sentences)), lengths.mean(), lengths.std(), (lengths < 5).mean(),
        np.mean([len(word) for word in words]), len(counts) / np.sqrt(n),
        sum(sentence[0].islower() for sentence in sentences) / len(sentences),
        sum(word[:1].isupper() for word in words) / n,
        *(text.count(mark) / n for mark in ".,'"),
        *(len(re.findall(slip, text.lower())) / n for slip in (r"\ba [aeiou]", r"\ban [^aeiou]")),
        *(len(re.findall(rf"\b{word}\b", text.lower())) / n for word in ("this", "the", "an?")),
        *(counts[word] / n for word in COUNTED.split()),
    ]  # fmt: skip
    return [float(value) for value in values]


def usage(texts: pd.Series) -> np.ndarray:
    """How usual the words and word pairs of an essay are among all essays."""
    parts = []
    for ngrams in ((1, 1), (2, 2)):
        counter = TfidfVectorizer(
            ngram_range=ngrams, use_idf=False, norm=None, token_pattern=r"[\w']+"
        )
        counts = counter.fit_transform(texts)
        spread = np.asarray((counts > 0).sum(axis=0)).ravel()
        total = np.asarray(counts.sum(axis=1)).ravel()
        limits = [spread <= limit for limit in (1, 3, 10, 50)]
        parts += [counts @ rare.astype(float) / total for rare in limits]
        parts.append(counts @ np.log(spread) / total)
    return np.stack(parts, axis=1)


def features(texts: pd.Series) -> np.ndarray:
    """Style, usage and leading components of the words: one row an essay, columns scaled."""
    words = TfidfVectorizer(
        lowercase=False, sublinear_tf=True, min_df=4, ngram_range=(1, 2),
        token_pattern=r"\w+|[^\w\s]",
    ).fit_transform(texts)  # fmt: skip
    topics = TruncatedSVD(COMPONENTS, random_state=0).fit_transform(words)
    counted = np.hstack([np.array([style(text) for text in texts]), usage(texts)])
    counted = (counted - counted.mean(axis=0)) / (counted.std(axis=0) + 1e-9)
    topics = (topics - topics.mean(axis=0)) / topics.std(axis=0).mean()
    return np.hstack([counted.clip(-3, 3), topics])


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


class Scale:
    """From the model's answers to the panel's ratings: one slope, and a level for each column.

    The panel's essays are few: levels are drawn to their mean as far as chance explains them.
    """

    def fit(self, answers: np.ndarray, ratings: np.ndarray) -> "Scale":
        centred = answers - answers.mean(axis=0)
        self.slope = (centred * ratings).sum() / (centred**2).sum()
        rest = ratings - self.slope * answers
        levels, chance = rest.mean(axis=0), rest.var(axis=0).mean() / len(rest)
        kept = max(0.0, 1 - chance / levels.var(ddof=1))
        self.levels = levels.mean() + kept * (levels - levels.mean())
        return self

    def predict(self, answers: np.ndarray) -> np.ndarray:
        return (self.slope * answers + self.levels).clip(1, 5)


def predict(x: np.ndarray, train: pd.DataFrame, other: np.ndarray) -> np.ndarray:
    """The panel's ratings of essays with the features `other`, from the readings of those in `x`."""
    findings = find(x, train, TARGETS)
    print("findings", json.dumps(findings))
    wanted, weights = aligned(train, TARGETS, findings)
    used = weights > 0
    panel = (train["rater"] == "panel").to_numpy()
    ratings = train.loc[panel, TARGETS].to_numpy()

    tried = {}
    for penalty in PENALTIES:
        answers = unseen(x, wanted, weights, train["text_id"], penalty)
        tried[penalty] = mcrmse(wanted[used], answers[used]), answers[panel]
    best = min(tried, key=lambda penalty: tried[penalty][0])
    answers = tried[best][1]
    each = np.arange(len(answers))
    held = [Scale().fit(answers[each != k], ratings[each != k]).predict(answers[[k]]) for k in each]
    print(f"validation MCRMSE={mcrmse(ratings, np.vstack(held)):.4f}")

    model = fitted(x, wanted, weights, best)
    return Scale().fit(answers, ratings).predict(model.predict(other))


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    essays = pd.concat([train, test])[["text_id", "full_text"]].drop_duplicates("text_id")
    rows = pd.Series(range(len(essays)), index=essays["text_id"])
    everything = features(essays["full_text"])
    x, other = everything[rows[train["text_id"]]], everything[rows[test["text_id"]]]
    submission = pd.DataFrame(predict(x, train, other), columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
