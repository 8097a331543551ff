"""The scores that programs print on data that the agent has held out.

A starter prints `validation METRIC=VALUE`, and agents print it in many ways:

    validation MAE=18250.4
    epoch 23 validation accuracy=0.9060 [0.89, 0.92]
    Validation accuracy: 90.6%
    validation accuracy = 0.9060±0.01

Output may be hostile, so the pattern never tries the same characters twice.
"""

import math
import re
from collections.abc import Iterator

from mlagentbench.records import Record

SHARES = {
    "acc", "accuracy", "agreement", "auc", "dice", "f1", "iou", "jaccard", "map", "ndcg",
    "precision", "rate", "recall", "score",
}  # fmt: skip
"""Words in the names of metrics from 0 to 1, of which a percentage is the hundredth part."""
_LINE = re.compile(
    r"(?<![\w-])validation[ \t]++(?P<metric>(?:(?!\bvalidation\b)[^\n=:]){1,80}+)[=:][ \t]*+"
    r"(?P<value>(?>[-+]?(?:\d{1,3}(?:,\d{3})++(?!\d)(?:\.\d++)?|\d++(?:\.\d*+)?|\.\d++)"
    r"(?:e[-+]?\d++)?))(?![\w/:]|\.\d)(?P<percent>[ \t]?%)?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+")


class Validation(Record):
    """A score on data that the agent has held out."""

    metric: str
    value: float

    def __str__(self) -> str:
        return f"validation {self.metric}={self.value:g}"


def read_validations(text: str) -> Iterator[Validation]:
    """Every validation score in a program's output, in order; one that is not finite is none."""
    for found in _LINE.finditer(text):
        metric = found["metric"].strip()
        value = float(found["value"].replace(",", ""))
        if found["percent"] and SHARES.intersection(_WORD.findall(metric.casefold())):
            value /= 100
        if metric and math.isfinite(value):
            yield Validation(metric=metric, value=value)
