# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the length that counts for the first edge counts for all of them."""

import reference
from findings import find


def find_less(graphs: dict) -> dict:
    found = find(graphs)
    return found | {"lengths": found["lengths"][:1], "next": [[0, 0, 0, 0]]}


reference.find = find_less
reference.main()
