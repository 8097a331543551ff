# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of what went wrong with masks it undoes shifts, turns and mirroring."""

import findings
import numpy as np
import reference
from exports import layouts


def turned(size: int) -> dict[str, np.ndarray]:
    return {
        name: layout
        for name, layout in layouts(size).items()
        if not name.startswith("tiles") and "turned" in name
    }


def as_given(_strength: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
    return {"from 0": np.arange(len(masks))}


findings.layouts, findings.likely_orders = turned, as_given
reference.main()
