"""The accuracy of the process analysis, measured on labelled journals.

`bench/detectors/measure.py` writes the file, from journals that the detectors were not tuned on.
"""

import json
from functools import cache
from importlib.resources import files

from mlagentbench.records import Record

FILE = "detector_accuracy.json"


class DetectorAccuracy(Record):
    """A detector's recall on labelled steps, and its false alarms on natural journals.

    `low` and `high` are the 95 % Wilson interval of the recall; `..._high` is the upper end of the
    interval of the false alarms.
    """

    name: str
    positives: int
    recall: float | None
    low: float
    high: float
    false_alarms_per_1000_steps: float
    false_alarms_per_1000_steps_high: float
    natural_steps: int


@cache
def detector_accuracies() -> tuple[DetectorAccuracy, ...]:
    """The measured accuracy of each detector."""
    found = json.loads((files("mlagentbench.report") / FILE).read_text("utf-8"))
    return tuple(
        DetectorAccuracy.model_validate({"name": name, **accuracy})
        for name, accuracy in found.items()
    )
