# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Of recipes with and without pruning, short windows and other attention: the fastest when loaded."""

from writing import write

write(
    [
        ("neurons", "words"),
        ("neurons", "words", "products"),
        ("neurons", "words", "window"),
        ("neurons", "words", "window", "products"),
    ]
)
