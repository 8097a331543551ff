# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it learns words from the labelled reviews of the tested genre alone."""

import pandas as pd
import reference
from sklearn.linear_model import LogisticRegression


def learn_from_labels(
    reader: reference.Reader, train: pd.DataFrame, _unlabelled: pd.DataFrame, tested: str
) -> LogisticRegression:
    few = train[train["genre"] == tested]
    return LogisticRegression().fit(reader.count(few["text"]), few["sentiment"])


reference.learn = learn_from_labels
reference.main()
