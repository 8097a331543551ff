# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it learns from all annotators, once their masks are where they belong."""

import numpy as np
import reference


def all_rows(annotators: np.ndarray, _trusted: list[int]) -> np.ndarray:
    return annotators > 0


reference.rows_to_learn_from = all_rows
reference.main()
