"""Checks generate.py on the prompts of prompts.json; with --time, times it, too."""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from generate import generate, load
from llama import DEVICE, Llama

MODEL = Path("model")
NEAR_TIE = 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true", help="print the seconds per request, too")
    arguments = parser.parse_args()
    serving = json.loads(Path("serving.json").read_text())
    torch.set_num_threads(serving["threads"])
    prompts = json.loads(Path("prompts.json").read_text())
    batch, new_tokens = serving["batch"], serving["new_tokens"]
    batches = [prompts[start : start + batch] for start in range(0, len(prompts), batch)]

    model = load(MODEL)
    seconds, generated = [], []
    for some in batches:
        start = time.perf_counter()
        generated.append(generate(model, some, new_tokens))
        seconds.append(time.perf_counter() - start)
    del model  # a large model does not fit into memory twice

    plain = Llama(MODEL)
    right = [agreement(plain, *pair) for pair in zip(batches, generated, strict=True)]
    print(f"validation agreement={statistics.fmean(right):.4f}")
    if arguments.time:
        print(f"seconds per request: {statistics.median(seconds):.4f}")


def agreement(model: Llama, prompts: list[list[int]], generated: list[list[int]]) -> float:
    """The share of tokens that are the model's first choice after those before them.

    A token that is less than NEAR_TIE behind the first choice is as good.
    """
    given, tokens = (torch.tensor(rows, device=DEVICE) for rows in (prompts, generated))
    logits = model.logits(torch.cat([given, tokens], dim=1))[:, given.shape[1] - 1 : -1]
    chosen = logits.gather(2, tokens[..., None])[..., 0]
    return (chosen >= logits.amax(dim=2) - NEAR_TIE).float().mean().item()


if __name__ == "__main__":
    main()
