# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the network goes two rounds, as the starter's does."""

import reference

reference.ROUNDS = 2
reference.ATTEMPTS = 1
reference.main()
