# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference with the right traits, but it learns from the consensus alone."""

import numpy as np
import reference


def agreed_rows(annotators: np.ndarray, _trusted: list[int]) -> np.ndarray:
    return annotators == 0


reference.FOLDS = 6
reference.rows_to_learn_from = agreed_rows
reference.main()
