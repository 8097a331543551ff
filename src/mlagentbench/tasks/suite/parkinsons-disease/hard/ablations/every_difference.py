# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the regression gets the differences to all three controls."""

import pandas as pd
import reference

corrected = reference.corrected


def side_by_side(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    parts = []
    for material in controls.index.unique("control"):
        valid = dict.fromkeys(samples["lot"], dict.fromkeys(levels, material))
        found = corrected(levels, samples, controls, findings | {"valid_control": valid})
        parts.append(found.add_suffix(f" against {material}"))
    return pd.concat(parts, axis=1)


reference.corrected = side_by_side
reference.main()
