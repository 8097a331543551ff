# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the genus is told by the better one of the two features alone."""

import re

import numpy as np
import reference
from findings import find, sectors, told
from pictures import Measured


def find_less(
    circles: Measured, levels: Measured, labels: np.ndarray, sources: np.ndarray, tested: int
) -> dict:
    found = find(circles, levels, labels, sources, tested)
    large = sources != tested
    names = re.split(r" [+-] ", found["genus"])
    alone = {name: told(sectors(circles[name][large]), labels[large]) for name in names}
    return found | {"genus": max(alone, key=alone.__getitem__)}


reference.find = find_less
reference.main()
