# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it takes lines of all directions to be of the same kind."""

import kinds
import numpy as np
import reference
from lines import Lines


def one_direction(lines: Lines) -> np.ndarray:
    return np.zeros(lines.angle.shape, dtype=int)


kinds.direction = one_direction
reference.main()
