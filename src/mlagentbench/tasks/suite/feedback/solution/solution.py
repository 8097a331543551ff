# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Two models that read differently, stacked: a linear one on words, and boosted trees.

Both see counts of how an essay is written and how usual its words and word pairs are among the
training essays. The stack is fitted to predictions for essays that the models had not seen.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # two would wait for each other

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import QuantileTransformer

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.2
FOLDS = 4
COMPONENTS = 30
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
MIDDLE = 3.0
MARKS = ".,;:!?'\"()-"
COUNTED = [
    "because", "however", "although", "therefore", "moreover", "furthermore", "also", "so", "but",
    "and", "then", "while", "since", "unless", "if", "when", "which", "who", "that", "would",
    "could", "should", "might",
]  # fmt: skip
SLIPS = [
    r"\b(?:dont|cant|wont|didnt|doesnt|isnt|im|ive|thats|theyre|youre|u|ur|alot|becuase)\b",
    r"\ba [aeiou]", r"\ban [^aeiouh\W]", r"\b(\w+) \1\b", r"[.,!?]\w", r"\s[.,!?]", r"  +",
]  # fmt: skip


def style(text: str) -> list[float]:
    """How an essay is written: lengths, variety, capitals, marks, joining words, slips."""
    words = re.findall(r"[A-Za-z']+", text) or [""]
    lower = [word.lower() for word in words]
    sentences = [part.strip() for part in re.split(r"[.!?]+", text) if part.strip()] or ["."]
    lengths = np.array([len(word) for word in words])
    per_sentence = np.array([len(sentence.split()) for sentence in sentences])
    counts = Counter(lower)
    n = len(words)
    values = [
        np.log(n), np.log(len(sentences)), len(re.findall(r"\n\s*\n", text)),
        per_sentence.mean(), per_sentence.std(), np.log1p(per_sentence.max()),
        lengths.mean(), lengths.std(),
        (lengths >= 7).mean(), (lengths >= 10).mean(), (lengths <= 3).mean(),
        len(counts) / np.sqrt(n), len(counts) / n, sum(v == 1 for v in counts.values()) / n,
        max(counts.values()) / n, len(set(lower[:100])) / min(n, 100),
        sum(sentence[0].islower() for sentence in sentences) / len(sentences),
        words.count("i") / n, words.count("I") / n,
        sum(word[:1].isupper() for word in words) / n, text.strip()[-1:] in ".!?\"",
    ]  # fmt: skip
    values += [len(re.findall(pattern, text.lower())) / n for pattern in SLIPS]
    values += [text.count(mark) / n for mark in MARKS]
    values += [counts[word] / n for word in COUNTED]
    return [float(value) for value in values]


class Essays:
    """Texts, and how they are written, which is counted once."""

    def __init__(self, texts: pd.Series, styles: np.ndarray | None = None) -> None:
        self.texts = texts
        self.styles = np.array([style(text) for text in texts]) if styles is None else styles

    def part(self, rows: np.ndarray) -> "Essays":
        return Essays(self.texts.iloc[rows], self.styles[rows])


class Usage:
    """How usual the words and word pairs of an essay are among the training essays."""

    def fit(self, texts: pd.Series) -> np.ndarray:
        essays = [self._tokens(text) for text in texts]
        self.words = Counter(word for essay in essays for word in set(essay))
        self.pairs = Counter(pair for essay in essays for pair in set(pairwise(essay)))
        return np.array([self._usage(essay, own=1) for essay in essays])

    def transform(self, texts: pd.Series) -> np.ndarray:
        return np.array([self._usage(self._tokens(text), own=0) for text in texts])

    def _usage(self, essay: list[str], own: int) -> list[float]:
        """Shares of rare ones; the essay itself, if it was counted (`own`), does not count."""
        words = np.array([self.words[word] - own for word in essay] or [0])
        found = [self.pairs[pair] - own for pair in pairwise(essay)]
        pairs = np.array(found or [0])
        return [
            *((words <= limit).mean() for limit in (0, 2, 10, 50)),
            *((pairs <= limit).mean() for limit in (0, 2, 10)),
            np.log1p(words).mean(), np.log1p(words).std(), np.log1p(pairs).mean(),
        ]  # fmt: skip

    @staticmethod
    def _tokens(text: str) -> list[str]:
        return re.findall(r"[a-z']+", text.lower())


class Readers:
    """The two models; `predict` gives their ratings side by side."""

    def fit(self, essays: Essays, ratings: np.ndarray) -> "Readers":
        self.usage = Usage()
        counted = np.hstack([essays.styles, self.usage.fit(essays.texts)])
        self.scaler = QuantileTransformer(
            n_quantiles=200, output_distribution="normal", random_state=SEED
        ).fit(counted)
        self.words = TfidfVectorizer(
            lowercase=False, sublinear_tf=True, min_df=3, ngram_range=(1, 2),
            token_pattern=r"\w+|[^\w\s]", max_features=20_000,
        )  # fmt: skip
        weights = self.words.fit_transform(essays.texts)
        self.topics = TruncatedSVD(COMPONENTS, n_iter=3, random_state=SEED).fit(weights)
        self.mean = ratings.mean(axis=0)

        scaled = self._scaled(counted)
        self.linear = Ridge(alpha=1.0, solver="sparse_cg")
        self.linear.fit(_beside(weights, scaled), ratings - self.mean)
        seen = np.hstack([scaled, self.topics.transform(weights)])
        self.trees = [_trees().fit(seen, column) for column in ratings.T]
        return self

    def predict(self, essays: Essays) -> np.ndarray:
        weights = self.words.transform(essays.texts)
        scaled = self._scaled(np.hstack([essays.styles, self.usage.transform(essays.texts)]))
        linear = self.linear.predict(_beside(weights, scaled)) + self.mean
        seen = np.hstack([scaled, self.topics.transform(weights)])
        trees = np.stack([model.predict(seen) for model in self.trees], axis=1)
        return np.hstack([linear, trees])

    def _scaled(self, counted: np.ndarray) -> np.ndarray:
        return self.scaler.transform(counted).clip(-3, 3)


def opinions_on_unseen(essays: Essays, ratings: np.ndarray) -> np.ndarray:
    """What the readers say of each essay when they were fitted to others."""
    opinions = np.zeros((len(ratings), 2 * len(TARGETS)))
    for fitting, rest in KFold(FOLDS, shuffle=True, random_state=SEED).split(ratings):
        readers = Readers().fit(essays.part(fitting), ratings[fitting])
        opinions[rest] = readers.predict(essays.part(rest))
    return opinions


def weigh(opinions: np.ndarray, ratings: np.ndarray) -> Ridge:
    """A linear model that weighs what the readers say."""
    return Ridge(alpha=20.0).fit(opinions - MIDDLE, ratings)


def final_ratings(weights: Ridge, opinions: np.ndarray) -> np.ndarray:
    return weights.predict(opinions - MIDDLE).clip(1, 5)


def _beside(weights: sparse.csr_matrix, scaled: np.ndarray) -> sparse.csr_matrix:
    return sparse.hstack([weights, 0.1 * scaled]).tocsr()


def _trees() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=80, learning_rate=0.09, max_leaf_nodes=6, min_samples_leaf=30, max_bins=63,
        l2_regularization=5.0, max_features=0.25, early_stopping=False, random_state=SEED,
    )  # fmt: skip


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


def main() -> None:
    train = pd.read_csv("train.csv")
    test = pd.read_csv("test.csv")
    essays, ratings = Essays(train["full_text"]), train[TARGETS].to_numpy()

    opinions = opinions_on_unseen(essays, ratings)
    validation = np.random.default_rng(SEED).random(len(train)) < VALIDATION_SHARE
    weights = weigh(opinions[~validation], ratings[~validation])
    error = mcrmse(ratings[validation], final_ratings(weights, opinions[validation]))
    print(f"validation MCRMSE={error:.4f}")

    readers = Readers().fit(essays, ratings)
    predicted = readers.predict(Essays(test["full_text"]))
    submission = pd.DataFrame(final_ratings(weigh(opinions, ratings), predicted), columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
