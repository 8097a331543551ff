# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but both colours of an animal count, as they are on all dives."""

import reference

reference.TRAITS = dict.fromkeys(reference.TRAITS, lambda body, core, hues: body * hues + core)
Model = reference.Model
reference.Model = lambda forms, hues: Model(forms, hues * hues)
reference.main()
