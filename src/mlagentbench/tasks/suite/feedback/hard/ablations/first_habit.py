# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it knows only the one habit that shows most."""

import findings
import reference
from occasions import directions

everything = findings.find


def find_less(*arguments: object) -> dict:
    found = everything(*arguments)
    occasions = found["occasions"]
    best = max(occasions, key=lambda target: occasions[target]["strength"])
    for target in occasions:
        occasions[target] = occasions[best]
    found["directions"] = directions(*arguments, occasions)
    return found


reference.find = find_less
reference.main()
