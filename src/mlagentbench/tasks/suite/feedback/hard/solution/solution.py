# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Marks are turned back where raters turned their scale; one model of words learns from all.

The panel's essays then say how the model's answers translate into the panel's ratings; they are
the validation, too, in predictions of models that had not seen them.
"""

import json

import numpy as np
import pandas as pd
from findings import find
from occasions import turned_back
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
PENALTIES = [100.0, 300.0, 1000.0, 3000.0, 10000.0]
FOLDS = 5
PANEL_WEIGHT = 5.0


def features(texts: pd.Series) -> np.ndarray:
    """How often each word is used, on a scale on which all words vary equally."""
    counts = CountVectorizer(min_df=20, token_pattern=r"[\w']+").fit_transform(texts).toarray()
    x = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    return (x - x.mean(axis=0)) / x.std(axis=0)


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


def wanted_marks(train: pd.DataFrame, findings: dict) -> tuple[np.ndarray, np.ndarray]:
    """All readings in the panel's direction, the panel's own among them, and their weights."""
    panel = (train["rater"] == "panel").to_numpy()
    wanted = turned_back(train, TARGETS, findings["occasions"])
    wanted = wanted * [findings["directions"][target] for target in TARGETS]
    rated = train.loc[panel, TARGETS]
    spread = 0.5
    wanted[panel] = (spread * (rated - rated.mean()) / rated.std().mean()).to_numpy()
    return wanted, np.where(panel, PANEL_WEIGHT, 1.0)


def unseen(
    x: np.ndarray, wanted: np.ndarray, weights: np.ndarray, essays: pd.Series, penalty: float
) -> np.ndarray:
    """What models say of essays that they were not fitted to."""
    number = pd.factorize(essays)[0]
    found = np.zeros_like(wanted)
    for fold in range(FOLDS):
        held = number % FOLDS == fold
        model = Ridge(penalty).fit(x[~held], wanted[~held], weights[~held])
        found[held] = model.predict(x[held])
    return found


class Scale:
    """From the model's answers to the panel's ratings: one slope, and a level for each column."""

    def fit(self, answers: np.ndarray, ratings: np.ndarray) -> "Scale":
        self.centre, self.levels = answers.mean(axis=0), ratings.mean(axis=0)
        centred = answers - self.centre
        self.slope = max(0.0, (centred * ratings).sum() / (centred**2).sum())
        overall = self.levels.mean()
        chance = ratings.var(axis=0).mean() / len(ratings)
        kept = max(0.0, 1 - chance / self.levels.var(ddof=1))
        self.levels = overall + kept * (self.levels - overall)
        return self

    def predict(self, answers: np.ndarray) -> np.ndarray:
        return (self.slope * (answers - self.centre) + self.levels).clip(1, 5)


def predict(x: np.ndarray, train: pd.DataFrame, other: np.ndarray) -> np.ndarray:
    """The panel's ratings of essays with the features `other`, from the readings of those in `x`."""
    findings = find(x, train, TARGETS)
    print("findings", json.dumps(findings))
    wanted, weights = wanted_marks(train, findings)
    panel = (train["rater"] == "panel").to_numpy()
    ratings = train.loc[panel, TARGETS].to_numpy()

    tried = {}
    for penalty in PENALTIES:
        answers = unseen(x, wanted, weights, train["text_id"], penalty)
        tried[penalty] = mcrmse(wanted[~panel], answers[~panel]), answers[panel]
    best = min(tried, key=lambda penalty: tried[penalty][0])
    answers = tried[best][1]
    each = np.arange(len(answers))
    held = [Scale().fit(answers[each != k], ratings[each != k]).predict(answers[[k]]) for k in each]
    print(f"validation MCRMSE={mcrmse(ratings, np.vstack(held)):.4f}")

    model = Ridge(best).fit(x, wanted, weights)
    scale = Scale().fit(answers, ratings)
    said = model.predict(other)
    scale.centre = said.mean(axis=0)
    return scale.predict(said)


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
