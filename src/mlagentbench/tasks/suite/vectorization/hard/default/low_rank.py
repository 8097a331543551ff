# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Low rank of the filters, in all blocks of a stride together or in each one."""

from choose import use

use("low_rank", "block_rank")
