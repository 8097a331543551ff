# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but columns that follow two habits at once are not understood."""

import findings
import reference


def none(*_: object) -> dict:
    return {}


findings.products = none
reference.main()
