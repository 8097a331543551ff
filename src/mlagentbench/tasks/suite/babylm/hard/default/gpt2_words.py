# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""A GPT-2 on whole words: trained on readable sources, at the end on the sample more and more."""

import os
from pathlib import Path

import torch
from gpt2 import GPT2, save_model
from mixtures import Mixture, read_folder, read_sample, readable
from pair_model import tokenizer_of
from torch.nn import functional

STEPS, BATCH, CONTEXT, WIDTH, RATE = 180, 16, 64, 96, 3e-3
FROM_SAMPLE = (0.1, 0.5)
"""The share of pieces that are from the sample, at the beginning and at the end."""
HELD = 8


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    sample = read_sample()
    texts = readable(list(read_folder("babylm_10M").values()), sample)
    tokenizer = tokenizer_of(Mixture(sample, texts).words)

    def encode(lines: list[list[str]]) -> torch.Tensor:
        return torch.tensor(tokenizer.encode("".join(" ".join(x) + ".\n" for x in lines)).ids)

    start = tokenizer.get_vocab_size() - 1
    held, few = encode(sample[:HELD]), encode(sample[HELD:])
    many = encode([line for lines in texts for line in lines])
    model = GPT2(start + 1, CONTEXT, WIDTH, 2, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for step in range(STEPS):
        share = FROM_SAMPLE[0] + (FROM_SAMPLE[1] - FROM_SAMPLE[0]) * step / STEPS
        pieces = [piece(few if torch.rand(()) < share else many) for _ in range(BATCH)]
        loss = cost(model, torch.stack(pieces))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    size = len("".join(" ".join(line) + ".\n" for line in sample[:HELD]))
    with torch.no_grad():
        rows = held[: len(held) // CONTEXT * CONTEXT].view(-1, CONTEXT)
        nats = cost(model, rows).item() * len(held)
    print(f"validation bits per byte={nats / 0.6931 / size:.4f}")
    Path("output").mkdir(exist_ok=True)
    save_model(model, start, Path("output"))
    tokenizer.save("output/tokenizer.json")


def piece(tokens: torch.Tensor) -> torch.Tensor:
    at = int(torch.randint(len(tokens) - CONTEXT - 1, ()))
    return tokens[at : at + CONTEXT + 1]


def cost(model: GPT2, rows: torch.Tensor) -> torch.Tensor:
    logits = model(rows[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


if __name__ == "__main__":
    main()
