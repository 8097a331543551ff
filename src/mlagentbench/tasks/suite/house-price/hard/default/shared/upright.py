# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Houses as several programs read them."""

import numpy as np
import pandas as pd

GRADES = {"ex": 5.0, "gd": 4.0, "ta": 3.0, "fa": 2.0, "po": 1.0}


def number(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column, errors="coerce").astype(float)


def grade(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().str.lower().map(GRADES).astype(float)


def upright_quality(houses: pd.DataFrame) -> np.ndarray:
    """OverallQual, turned round in neighbourhoods where it falls with the other grades."""
    quality = number(houses["OverallQual"]).fillna(5.5).to_numpy().copy()
    others = sum(grade(houses[c]).fillna(3.0) for c in ["ExterQual", "KitchenQual", "BsmtQual"])
    others = others.to_numpy()
    for rows in houses.groupby("Neighborhood").indices.values():
        q, o = quality[rows], others[rows]
        if np.sum((q - q.mean()) * (o - o.mean())) < 0:
            quality[rows] = 11 - q
    return quality


def standard(table: np.ndarray) -> np.ndarray:
    spread = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)
