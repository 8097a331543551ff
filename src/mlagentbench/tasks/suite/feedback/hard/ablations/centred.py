# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of raters it knows means and spreads only."""

import reference
from occasions import NOT_TURNED, directions


def find_less(*arguments: object) -> dict:
    occasions = {target: {"sign": NOT_TURNED} for target in reference.TARGETS}
    return {
        "occasions": occasions,
        "directions": directions(*arguments, occasions),
    }


reference.find = find_less
reference.main()
