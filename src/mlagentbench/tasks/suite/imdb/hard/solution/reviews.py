# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Reviews as sentences, and sentences as parts."""

import re

import pandas as pd

PARTS = ["before the word", "after the", "frame"]
"""Of a sentence, any of which may turn round what its last word says."""


def sentences(texts: pd.Series) -> pd.DataFrame:
    """The sentences of all reviews, each with its last word and its other parts."""
    rows = []
    for review, text in enumerate(texts):
        for sentence in re.split(r"[.!?]\s*", text.lower()):
            *rest, word = sentence.split() or [""]
            if rest:
                place = rest.index("the") + 1 if "the" in rest[:-1] else -1
                aspect = rest[place] if place > 0 else ""
                frame = " ".join(["_" if i == place else other for i, other in enumerate(rest)])
                before = rest[-1] if place != len(rest) - 1 else ""
                rows.append((review, word, before, aspect, frame))
    return pd.DataFrame(rows, columns=["review", "word", *PARTS])
