# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the place means the same to all passengers."""

import pandas as pd
import reference
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

inputs = reference.inputs


def without_pull(passengers: pd.DataFrame, found: dict) -> pd.DataFrame:
    return inputs(passengers, found).drop(columns="pull")


def line(**_settings) -> Pipeline:
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1))


reference.inputs = without_pull
reference.HistGradientBoostingClassifier = line
reference.main()
