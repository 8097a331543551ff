# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but colours do not count."""

import reference

reference.TRAITS = dict.fromkeys(reference.TRAITS, lambda body, core, hues: 0 * body)
reference.main()
