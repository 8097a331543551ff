# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it looks at a reading itself only, not at what was read before."""

import findings
import reference

everything = findings.candidates


def fewer(*arguments: object) -> dict:
    return {
        name: sign
        for name, sign in everything(*arguments).items()
        if "before" not in name and "more" not in name
    }


findings.candidates = fewer
reference.main()
