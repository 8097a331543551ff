# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Pictures as the camera saw them, outlines of animals, and the one colour that can be trusted.

The recorder of each dive is undone first. Then animals are cut out of the grey ground; a forest
names their forms, and the colour that tells the categories of a form apart on surveys does the
rest. Validation is on surveys that were held back.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
from animals import TRAITS, find_animals, match, with_hues
from findings import find
from PIL import Image
from recorder import undo
from sklearn.ensemble import ExtraTreesClassifier

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
GUESSES = 20
TREES, LEAF = 200, 2
SMOOTH = 0.3


def read_dives(frames: pd.DataFrame) -> dict[str, np.ndarray]:
    """The stored pictures of each dive, in the order of its frames."""
    folder = {
        name: part
        for part in ("train", "test")
        for name in pd.read_csv(f"{part}.csv", dtype=str)["id"]
    }
    dives = {}
    for dive, rows in frames.groupby("dive"):
        files = [Path(f"{folder[name]}_images/{name}.png") for name in rows["id"]]
        dives[dive] = np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files])
    return dives


def read_boxes(frames: pd.DataFrame) -> pd.DataFrame:
    boxes = pd.read_csv("train_boxes.csv", dtype={"id": str}).merge(frames, on="id")
    boxes["row"] = boxes["top"] + (boxes["height"] - 1) / 2
    boxes["column"] = boxes["left"] + (boxes["width"] - 1) / 2
    return boxes


class Model:
    """How likely each category is for an animal: its form, then its trait."""

    def __init__(self, forms: pd.Series, hues: int) -> None:
        self.forms, self.hues = forms, hues

    def fit(self, outlines: np.ndarray, trait: np.ndarray, category: np.ndarray) -> "Model":
        forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=SEED)
        self.forest = forest.fit(outlines, self.forms.loc[category])
        counts = np.full((len(self.forms), self.hues), SMOOTH)
        np.add.at(counts, (self.forms.index.get_indexer(category), trait), 1)
        self.chances = counts / counts.sum(axis=1, keepdims=True)
        return self

    def predict(self, outlines: np.ndarray, trait: np.ndarray) -> np.ndarray:
        of_forms = pd.DataFrame(self.forest.predict_proba(outlines), columns=self.forest.classes_)
        scores = of_forms[self.forms].to_numpy() * self.chances[:, trait].T
        return scores / scores.sum(axis=1, keepdims=True)


def rank(
    scores: np.ndarray, animals: pd.DataFrame, wanted: pd.DataFrame, usual: np.ndarray
) -> np.ndarray:
    """For each wanted frame the columns of the categories, the likeliest first."""
    keys = [animals["dive"], animals["frame"]]
    totals = pd.DataFrame(scores, animals.index).groupby(keys).sum()
    keys = pd.MultiIndex.from_frame(wanted[["dive", "frame"]])
    return np.argsort(-(totals.reindex(keys).fillna(0).to_numpy() + 1e-6 * usual), axis=1)


def mean_average_precision(ranked: np.ndarray, truth: list[set[int]]) -> float:
    precisions = []
    for order, actual in zip(ranked, truth, strict=True):
        hits = np.isin(order[:GUESSES], list(actual))
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        precisions.append((precision * hits).sum() / min(len(actual), GUESSES))
    return float(np.mean(precisions))


def validate(
    model: Model, outlines: np.ndarray, animals: pd.DataFrame, wanted: pd.DataFrame
) -> float:
    """On surveys, each half of them held back in turn."""
    known = animals["category"].notna().to_numpy()
    surveys = wanted.loc[wanted["purpose"] == "survey", "dive"].unique()
    scores = []
    for half in (surveys[::2], surveys[1::2]):
        held = animals["dive"].isin(half).to_numpy()
        fit = known & ~held
        trait = animals["trait"].to_numpy()
        model.fit(outlines[fit], trait[fit], animals["category"].to_numpy()[fit])
        asked = wanted[wanted["dive"].isin(half)]
        guesses = model.predict(outlines[held], trait[held])
        ranked = rank(guesses, animals[held], asked, np.zeros(len(model.forms)))
        truth = [
            {model.forms.index.get_loc(int(c)) for c in t.split()} for t in asked["categories"]
        ]
        scores.append(mean_average_precision(ranked, truth))
    return float(np.mean(scores))


def main() -> None:
    frames = pd.read_csv("frames.csv", dtype={"id": str, "dive": str})
    frames = frames.sort_values(["dive", "frame"], ignore_index=True)
    dives, boxes = read_dives(frames), read_boxes(frames)
    findings = find(dives, boxes, dict(zip(frames["dive"], frames["purpose"], strict=True)))
    print("findings", json.dumps(findings))

    seen = {dive: undo(pictures, findings, dive) for dive, pictures in dives.items()}
    found = find_animals(seen)
    outlines = np.stack([animal.outline for animal in found])
    animals, hues = with_hues(found)
    animals["category"] = match(animals, boxes, next(iter(dives.values())).shape[1])
    animals["trait"] = TRAITS[findings["trait"]](animals["body"], animals["core"], hues)
    forms = pd.read_csv("category_key.csv").set_index("id")["supercat"]
    model = Model(forms, hues)
    train = pd.read_csv("train.csv", dtype=str).drop(columns="dive").merge(frames, on="id")
    print(f"validation MAP@20={validate(model, outlines, animals, train):.4f}")

    fit = animals["category"].notna().to_numpy()
    trait, category = animals["trait"].to_numpy(), animals["category"].to_numpy()
    model.fit(outlines[fit], trait[fit], category[fit])
    test = pd.read_csv("test.csv", dtype={"id": str}).merge(frames, on="id")
    tested = animals["dive"].isin(test["dive"]).to_numpy()
    usual = forms.index.map(pd.Series(category[fit]).value_counts()).fillna(0).to_numpy()
    scores = model.predict(outlines[tested], trait[tested])
    ranked = rank(scores, animals[tested], test, usual / usual.sum())
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "categories"])
        for name, order in zip(test["id"], ranked, strict=True):
            writer.writerow([name, " ".join(str(forms.index[n]) for n in order[:GUESSES])])


if __name__ == "__main__":
    main()
