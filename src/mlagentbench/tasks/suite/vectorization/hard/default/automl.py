# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The fastest of all recipes on this layer."""

from choose import use

use("pieces", "fourier", "low_rank", "block_rank", "winograd")
