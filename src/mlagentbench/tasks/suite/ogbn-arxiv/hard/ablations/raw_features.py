# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but features are compared across all batches as they are given."""

import reference
from findings import find
from papers import Papers


def find_less(papers: Papers) -> dict:
    return find(papers) | {"batches": []}


reference.find = find_less
reference.main()
