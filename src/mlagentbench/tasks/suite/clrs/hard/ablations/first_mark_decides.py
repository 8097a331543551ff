# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but once another length than the first one counts, it counts for good."""

import reference
from findings import find


def find_less(graphs: dict) -> dict:
    found = find(graphs)
    stay = [[mode] * len(found["next"][0]) for mode in range(len(found["lengths"]))]
    return found | {"next": [found["next"][0], *stay[1:]]}


reference.find = find_less
reference.main()
