# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but any token may be generated, which is too many for a table."""

import reference

reference.main("generated")
