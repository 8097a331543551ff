# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it believes in all heads that look at one place, also in those that cancel."""

import reference

reference.main("cancelled")
