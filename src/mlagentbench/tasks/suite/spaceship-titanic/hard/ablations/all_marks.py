# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it takes all clustered ways of writing for marks, decoys as well."""

import findings
import reference

in_the_same_places = findings.in_the_same_places


def anywhere(*args) -> list[list[str]]:
    return [[way for together in in_the_same_places(*args) for way in together]]


findings.in_the_same_places = anywhere
reference.main()
