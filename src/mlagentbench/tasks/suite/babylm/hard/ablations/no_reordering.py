# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""The reference, but lines are read as they are written; only spellings are undone."""

import reference
from findings import find
from recordings import Line


def find_less(sources: dict[str, list[Line]], sample: list[Line]) -> dict:
    plain = {"order": ["plain"], "lines backwards": False}
    return {name: way and way | plain for name, way in find(sources, sample).items()}


reference.find = find_less
reference.main()
