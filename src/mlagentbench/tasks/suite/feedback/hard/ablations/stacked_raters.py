# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference with a model for each rater, and the panel's essays to weigh what they say."""

import re
from collections import Counter

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge, RidgeCV

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
COMPONENTS, PENALTY = 100, 100.0
PENALTIES = np.logspace(-1, 4, 11)
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


def opinions(x: np.ndarray, train: pd.DataFrame, everything: np.ndarray) -> np.ndarray:
    """What models of the raters, fitted to essays without the panel's, say: six columns each."""
    judged = train.loc[train["rater"] == "panel", "text_id"]
    used = ~train["text_id"].isin(judged).to_numpy()
    parts = []
    for _, rows in train.groupby("rater").indices.items():
        rows = rows[used[rows]]
        if len(rows):
            ratings = train[TARGETS].to_numpy()[rows]
            scaled = (ratings - ratings.mean(axis=0)) / ratings.std(axis=0)
            parts.append(Ridge(PENALTY).fit(x[rows], scaled).predict(everything))
    return np.hstack(parts)


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    essays = pd.concat([train, test])[["text_id", "full_text"]].drop_duplicates("text_id")
    rows = pd.Series(range(len(essays)), index=essays["text_id"])
    everything = features(essays["full_text"])
    said = opinions(everything[rows[train["text_id"]]], train, everything)
    panel = train[train["rater"] == "panel"]
    seen, ratings = said[rows[panel["text_id"]]], panel[TARGETS].to_numpy()

    each = np.arange(len(panel))
    held = [
        RidgeCV(PENALTIES).fit(seen[each != k], ratings[each != k]).predict(seen[[k]]) for k in each
    ]
    print(f"validation MCRMSE={mcrmse(ratings, np.vstack(held)):.4f}")

    model = RidgeCV(PENALTIES, alpha_per_target=True).fit(seen, ratings)
    found = model.predict(said[rows[test["text_id"]]]).clip(1, 5)
    submission = pd.DataFrame(found, columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
