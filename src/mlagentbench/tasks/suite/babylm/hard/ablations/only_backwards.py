# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""The reference, but of orders it knows only that lines may be backwards."""

import findings
import reference

findings.orders = lambda: [["plain"]]
findings.ABOVE_CHANCE = 1
reference.main()
