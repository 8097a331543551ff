# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it uses only families whose motif has the commonest size, either way round."""

import numpy as np
import reference
from findings import find


def find_one_shape(filters: np.ndarray, stride: int) -> dict:
    found = find(filters, stride)
    sizes = [sorted(one["motif"]) for one in found["families"]]
    common = max(sizes, key=sizes.count, default=None)
    alike = [one for one in found["families"] if sorted(one["motif"]) == common]
    return found | {"families": alike}


reference.main(find_one_shape)
