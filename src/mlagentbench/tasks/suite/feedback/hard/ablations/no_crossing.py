# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it looks at one thing at a time: no products of two."""

import findings
import reference

everything = findings.candidates


def fewer(*arguments: object) -> dict:
    return {name: sign for name, sign in everything(*arguments).items() if " * " not in name}


findings.candidates = fewer
reference.main()
