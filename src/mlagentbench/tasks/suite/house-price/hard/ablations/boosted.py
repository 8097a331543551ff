# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference's features, but boosted trees instead of a line."""

import reference
from sklearn.ensemble import HistGradientBoostingRegressor


def trees(_penalty: float) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=200, learning_rate=0.08, max_leaf_nodes=8, random_state=0
    )


reference.Ridge = trees
reference.main()
