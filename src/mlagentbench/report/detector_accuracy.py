"""How often the process analysis is right, as it was measured on labelled journals.

`bench/detectors/measure.py` writes the file: for each detector its figures on the journals that it
was not tuned on.
"""

import json
from functools import cache
from importlib.resources import files

from mlagentbench.records import Record

FILE = "detector_accuracy.json"


class DetectorAccuracy(Record):
    """How many of the labelled places a detector finds, and how often it is wrong elsewhere.

    `low` and `high` are the 95 % Wilson interval of the recall; false alarms are counted on natural
    journals only, with the upper end of theirs.
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
    """The measured figures by detector."""
    found = json.loads((files("mlagentbench.report") / FILE).read_text("utf-8"))
    return tuple(
        DetectorAccuracy.model_validate({"name": name, **figures})
        for name, figures in found.items()
    )
