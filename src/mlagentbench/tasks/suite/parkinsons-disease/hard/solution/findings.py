# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What the laboratory did to the samples, and which facts of a visit can be trusted at new sites."""

from typing import Any

import numpy as np
import pandas as pd

MOST_FACTORS = 5


def find(levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame) -> dict[str, Any]:
    """Look at the logarithms of samples and controls, one row a well and one column a protein.

    `samples` has plate, site and lot of each row of `levels`, how often the person was seen, and
    the severity where ratings are known; `controls` is indexed by plate and material.
    """
    return {
        "factors": count_factors(levels, samples["plate"]),
        "valid_control": valid_controls(levels, samples, controls),
        "schedule": is_one_direction(samples.dropna(subset=["severity", "visits"])),
    }


def count_factors(levels: pd.DataFrame, plate: pd.Series) -> int:
    """After how many directions the spread within plates falls most steeply."""
    spreads = []
    for _, rows in levels.groupby(plate):
        values = (rows - rows.mean()).fillna(0.0).to_numpy()
        spreads.append(np.linalg.svd(values, compute_uv=False)[: MOST_FACTORS + 1])
    spread = np.mean(spreads, axis=0)
    return int(np.argmax(spread[:-1] / spread[1:])) + 1


def valid_controls(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame
) -> dict[str, dict[str, str]]:
    """For each lot and protein, the material that moves from plate to plate as the samples do."""
    of_samples = levels.groupby(samples["plate"]).median()
    of_controls = controls.groupby(level=["control", "plate"]).mean()
    lots = samples.drop_duplicates("plate").set_index("plate")["lot"]
    found = {}
    for lot, plates in lots.groupby(lots):
        spread = {
            material: (of_samples - of_controls.loc[material]).loc[plates.index].std()
            for material in of_controls.index.unique("control")
        }
        found[str(lot)] = pd.DataFrame(spread).idxmin(axis=1).to_dict()
    return found


def is_one_direction(seen: pd.DataFrame) -> bool:
    """Whether frequent visits go with the same kind of ratings at every site, and clearly so."""
    by_site = seen.groupby("site")
    found = [rows["visits"].corr(rows["severity"], method="spearman") for _, rows in by_site]
    same_sign = np.abs(np.sign(found).sum()) == len(found)
    return bool(same_sign and np.abs(np.mean(found)) > 2 * np.std(found) / len(found) ** 0.5)
