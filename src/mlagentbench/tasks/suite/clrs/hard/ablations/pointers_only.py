# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the network is shown right pointers only, and never what ways cost."""

import numpy as np
import reference
import torch
from torch.nn import functional

STEPS, RATE = 600, 0.02


def train(model, weights: torch.Tensor, _states, pointers: torch.Tensor, rng: np.random.Generator):
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for _ in range(STEPS):
        chosen = torch.from_numpy(rng.integers(len(weights), size=reference.BATCH))
        asked = pointers[chosen] >= 0
        loss = functional.cross_entropy(model(weights[chosen])[asked], pointers[chosen][asked])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


reference.train = train
reference.ATTEMPTS = 1
reference.main()
