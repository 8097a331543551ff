# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but masks are only put in order and shifted."""

import findings
import numpy as np
import reference


def as_given(size: int) -> dict[str, np.ndarray]:
    return {"straight": np.arange(size * size)}


findings.layouts = as_given
reference.main()
