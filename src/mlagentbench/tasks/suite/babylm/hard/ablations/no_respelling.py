# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""The reference, but words are read as they are written; only orders are undone."""

import reference
from findings import find
from recordings import Line


def find_less(sources: dict[str, list[Line]], sample: list[Line]) -> dict:
    found = find(sources, sample)
    return {
        name: way if way and way["spelling"] == ["plain"] else None for name, way in found.items()
    }


reference.find = find_less
reference.main()
