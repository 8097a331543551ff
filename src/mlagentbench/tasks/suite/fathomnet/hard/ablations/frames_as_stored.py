# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but each frame is taken to be whole and by itself."""

import findings
import reference


def find_nothing(dives: dict) -> dict:
    return {"kind": "none", "settings": {dive: [] for dive in dives}}


findings.find_frames = find_nothing
reference.main()
