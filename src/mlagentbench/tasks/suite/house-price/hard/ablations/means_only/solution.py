# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of a neighbourhood it looks at means alone."""

import json

import numpy as np
import pandas as pd
from findings import find
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from tables import numbers, repaired, statistics, years

PENALTY = 3.0
HALFWAY, LAST_YEAR = 0.0, 0.5
"""In years from the middle of 2007: the training sales end at 1.5."""


def features(houses: pd.DataFrame, found: dict) -> pd.DataFrame:
    """House, neighbourhood and time; to be called for all houses together."""
    x, table, time = numbers(houses), statistics(houses), years(houses)
    drivers = {name: houses["Neighborhood"].map(table[name]) for name in table}
    drivers |= {f"own {name}": x[name] for name in x}
    trend = {name: drivers[name] for name in found["trend"] if name in drivers}
    level = {name: drivers[name] for name in found["level"] if name in drivers}
    moving = {f"{name} x time": values * time for name, values in trend.items()}
    return x.assign(time=time, **(level | trend | moving))


class Model:
    """Ridge regression; known neighbourhoods may deviate a little from what their mix says."""

    def fit(self, x: pd.DataFrame, places: pd.Series, prices: pd.Series) -> "Model":
        self.scaler = StandardScaler().fit(x)
        self.known = sorted(places.unique())
        self.ridge = Ridge(PENALTY).fit(self._matrix(x, places), np.log(prices))
        return self

    def predict(self, x: pd.DataFrame, places: pd.Series) -> np.ndarray:
        return np.exp(self.ridge.predict(self._matrix(x, places)))

    def _matrix(self, x: pd.DataFrame, places: pd.Series) -> np.ndarray:
        dummies = places.to_numpy()[:, None] == np.array(self.known)[None, :]
        return np.hstack([self.scaler.transform(x), dummies])


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    found = find(train, test)
    print("findings", json.dumps(found))
    houses = repaired(pd.concat([train, test], ignore_index=True), found)
    x, places, prices = features(houses, found), houses["Neighborhood"], houses["SalePrice"]
    is_train = prices.notna()

    # As in the test: later sales, most of them in neighbourhoods that were not fitted.
    held = places.isin(sorted(places[is_train].unique())[::3])
    fitting = is_train & ~held & (x["time"] < HALFWAY)
    validation = is_train & held & (x["time"] > LAST_YEAR)
    model = Model().fit(x[fitting], places[fitting], prices[fitting])
    error = np.abs(model.predict(x[validation], places[validation]) - prices[validation]).mean()
    print(f"validation MAE={error:.1f}")

    model = Model().fit(x[is_train], places[is_train], prices[is_train])
    predicted = model.predict(x[~is_train], places[~is_train])
    submission = pd.DataFrame({"Id": test["Id"], "SalePrice": predicted})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
