# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""On which occasions the raters turn their scale round, column by column.

If the sign of a column hangs on the occasion, marks go with the words of essays only after they
have been multiplied by that sign. So every sign that occasions could give is tried: the right one
makes the marks go with the words far more than chance does.
"""

from typing import Any

import numpy as np
import pandas as pd
from occasions import candidates, directions, products, standardised, strength

CERTAIN = 6.0
"""Standard deviations above chance from which on a sign is believed."""


def find(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict[str, Any]:
    """The occasions whose product is each column's sign, and its direction as the panel has it."""
    marks = standardised(train, targets)
    signs = candidates(train, targets)
    names = list(signs)
    table = np.stack([signs[name] for name in names])
    scores = np.stack([strength(table, x, column) for column in marks.T], axis=1)
    best = scores.argmax(axis=0)
    strong = {names[k] for column, k in enumerate(best) if scores[k, column] > CERTAIN}
    several = products(sorted(strong), signs)
    if several:
        more = [strength(np.stack(list(several.values())), x, column) for column in marks.T]
        names, scores = names + list(several), np.vstack([scores, np.stack(more, axis=1)])
    found = {}
    for number, target in enumerate(targets):
        best = int(scores[:, number].argmax())
        found[target] = {"sign": names[best], "strength": round(float(scores[best, number]), 1)}
    return {"occasions": found, "directions": directions(x, train, targets, found)}
