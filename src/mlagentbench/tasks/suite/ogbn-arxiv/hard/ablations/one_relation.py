# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but all citations are of one kind."""

import reference
from findings import find
from papers import Papers


def find_less(papers: Papers) -> dict:
    found = find(papers)
    relation = found["relation"]
    return found | {"relation": relation | {"lowest": relation["lowest"][:1]}}


reference.find = find_less
reference.main()
