# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The network on pairs of nodes, trained on the labelled graphs, with lengths free of scale."""

import json
import os
from pathlib import Path

import numpy as np
import torch
from graphs import labelled
from training import train, validate_and_save

STEPS = 600


def main() -> None:
    torch.set_num_threads(1)
    seed = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
    torch.manual_seed(seed)
    settings = json.loads(Path("settings.json").read_text())
    graphs = [(*labelled(nodes), []) for nodes in settings["train_nodes"]]
    model = train(graphs, STEPS, np.random.default_rng(seed))
    validate_and_save(model, settings["test_nodes"])


if __name__ == "__main__":
    main()
