# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but two features are added where they should be subtracted, or the reverse."""

import reference
from findings import find


def find_less(*data) -> dict:
    found = find(*data)
    return found | {"genus": found["genus"].translate(str.maketrans("+-", "-+"))}


reference.find = find_less
reference.main()
