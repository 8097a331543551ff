# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference without controls: plates are centred as far as it validates."""

import pandas as pd
import reference
from findings import find


def find_share(levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame) -> dict:
    questions, found, tried = reference.read()[3], find(levels, samples, controls), []
    for share in (0.5, 0.7, 0.8, 0.9):
        one = found | {"share": share}
        compared = reference.corrected(levels, samples, controls, one)
        tried.append((reference.validate(compared, samples, questions, one), one))
    return min(tried, key=lambda pair: pair[0])[1]


def centred(
    levels: pd.DataFrame, samples: pd.DataFrame, _controls: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    return levels - findings["share"] * levels.groupby(samples["plate"]).transform("mean")


reference.find = find_share
reference.against_controls = centred
reference.main()
