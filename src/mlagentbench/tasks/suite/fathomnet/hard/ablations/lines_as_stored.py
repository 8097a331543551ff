# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but rows and columns stay where the recorder put them."""

import findings
import reference


def find_nothing(dives: dict) -> dict:
    return {"kind": "none", "axis": 0, "settings": {dive: [] for dive in dives}}


findings.find_lines = find_nothing
reference.main()
