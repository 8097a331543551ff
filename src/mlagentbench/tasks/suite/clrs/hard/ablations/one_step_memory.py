# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but only the mark of the edge before decides what an edge costs."""

import reference
from findings import find


def find_less(graphs: dict) -> dict:
    found = find(graphs)
    return found | {"next": [found["next"][0]] * len(found["lengths"])}


reference.find = find_less
reference.main()
