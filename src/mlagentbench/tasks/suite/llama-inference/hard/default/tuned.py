# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A cache, the first layer as a table, no neurons that never fire, no tokens never generated."""

from writing import write

write([("neurons", "words")])
