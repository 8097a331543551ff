# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but all sources are taken together as they are."""

import reference
from findings import find


def find_less(*data) -> dict:
    return find(*data) | {"turns": {}}


reference.find = find_less
reference.main()
