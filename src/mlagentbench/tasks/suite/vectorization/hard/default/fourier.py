# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Blocks of a stride as channels, and tiles in the frequency domain."""

from choose import use

use("fourier")
