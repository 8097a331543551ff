"""Tell whether a review is positive: reads the data, validates a model, writes submission.csv.

The model that is here counts words of two short lists. Put yours in its place: a DistilBERT whose
checkpoint lies in distilbert/ and is loaded, without network, by

    AutoTokenizer.from_pretrained("distilbert")
    AutoModelForSequenceClassification.from_pretrained("distilbert", num_labels=2)
"""

import os
import re

import numpy as np
import pandas as pd

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.1

POSITIVE = {
    "amazing", "beautiful", "best", "brilliant", "enjoyable", "excellent", "fantastic", "good",
    "great", "love", "loved", "perfect", "superb", "wonderful",
}  # fmt: skip
NEGATIVE = {
    "annoying", "awful", "bad", "boring", "disappointing", "dull", "horrible", "poor", "stupid",
    "terrible", "waste", "weak", "worse", "worst",
}  # fmt: skip


class Model:
    """Replace the body of both methods by a model that reads."""

    def fit(self, texts: pd.Series, sentiment: pd.Series) -> "Model":
        undecided = sentiment[balance(texts) == 0]
        self.when_undecided = int(undecided.mean() > 0.5)
        return self

    def predict(self, texts: pd.Series) -> np.ndarray:
        found = balance(texts)
        return np.where(found == 0, self.when_undecided, found > 0).astype(int)


def balance(texts: pd.Series) -> np.ndarray:
    """How many more words of a text are on the one list than on the other."""
    words = (re.findall("[a-z]+", text.lower()) for text in texts)
    return np.array([sum((word in POSITIVE) - (word in NEGATIVE) for word in w) for w in words])


def split(reviews: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Random reviews to fit on, and the rest to validate on."""
    order = np.random.default_rng(SEED).permutation(len(reviews))
    held = int(len(reviews) * VALIDATION_SHARE)
    return reviews.iloc[order[held:]], reviews.iloc[order[:held]]


def main() -> None:
    train = pd.read_csv("train.csv")
    test = pd.read_csv("test.csv")

    fitting, validation = split(train)
    model = Model().fit(fitting["text"], fitting["sentiment"])
    hits = model.predict(validation["text"]) == validation["sentiment"].to_numpy()
    print(f"validation accuracy={hits.mean():.4f}")

    model = Model().fit(train["text"], train["sentiment"])
    submission = pd.DataFrame({"id": test["id"], "sentiment": model.predict(test["text"])})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
