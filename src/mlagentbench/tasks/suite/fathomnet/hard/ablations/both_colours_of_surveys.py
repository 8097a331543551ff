# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but both colours of an animal count, as they are on surveys."""

import pandas as pd
import reference

read_all = reference.read_boxes


def read_surveys(frames: pd.DataFrame) -> pd.DataFrame:
    boxes = read_all(frames)
    return boxes[boxes["purpose"] == "survey"]


reference.read_boxes = read_surveys
reference.TRAITS = dict.fromkeys(reference.TRAITS, lambda body, core, hues: body * hues + core)
Model = reference.Model
reference.Model = lambda forms, hues: Model(forms, hues * hues)
reference.main()
