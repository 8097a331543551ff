# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but with the colour that tells categories apart on most dives, the transits."""

import findings
import pandas as pd
import reference

find_on_surveys = findings.find_trait


def find_on_transits(animals: pd.DataFrame, hues: int) -> str:
    swapped = animals["purpose"].map({"transit": "survey", "survey": "transit"})
    return find_on_surveys(animals.assign(purpose=swapped), hues)


findings.find_trait = find_on_transits
reference.main()
