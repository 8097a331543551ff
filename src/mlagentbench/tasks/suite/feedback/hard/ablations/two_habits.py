# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but one of the habits, the one that shows least, is overlooked."""

import findings
import reference
from occasions import NOT_TURNED, directions

everything = findings.find


def find_less(*arguments: object) -> dict:
    occasions = everything(*arguments)["occasions"]
    factors = {target: set(one["sign"].split(" * ")) for target, one in occasions.items()}
    habits = [
        target for target in occasions if not any(factors[target] > one for one in factors.values())
    ]
    least = min(habits, key=lambda target: occasions[target]["strength"])
    for target in occasions:
        if factors[target] >= factors[least]:
            occasions[target] = {"sign": NOT_TURNED}
    return {"occasions": occasions, "directions": directions(*arguments, occasions)}


reference.find = find_less
reference.main()
