# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""The reference, but of spellings it knows only the usual ciphers: one shift, or words backwards."""

import findings
import reference


def spellings(letters: int) -> list[list]:
    return [["plain"], *(["grows", by, 0] for by in range(1, letters))]


findings.spellings = spellings
reference.main()
