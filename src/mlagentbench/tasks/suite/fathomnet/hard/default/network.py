# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A convolutional network on windows around the boxes, in the light of the dive."""

import windows

windows.main()
