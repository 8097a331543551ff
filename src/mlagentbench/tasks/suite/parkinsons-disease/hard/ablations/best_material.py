# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but all samples are compared with the one material that validates best."""

import pandas as pd
import reference
from findings import find


def find_one(levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame) -> dict:
    questions, found, tried = reference.read()[3], find(levels, samples, controls), []
    for material in controls.index.unique("control"):
        valid = dict.fromkeys(samples["lot"], dict.fromkeys(levels, material))
        one = found | {"valid_control": valid}
        compared = reference.corrected(levels, samples, controls, one)
        tried.append((reference.validate(compared, samples, questions, one), one))
    return min(tried, key=lambda pair: pair[0])[1]


reference.find = find_one
reference.main()
