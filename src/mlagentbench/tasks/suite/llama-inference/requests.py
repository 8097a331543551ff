"""Draws the requests of one grading: prompts from the hidden text, none of them twice."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

LEAST_PROMPT = 4


def make(directory: Path, private: Path, rng: np.random.Generator) -> None:
    wanted = json.loads((private / "requests.json").read_text())
    text = np.load(private / "text.npy", allow_pickle=False)
    pieces = hidden_pieces(text, wanted["prompt_tokens"] - 1, rng)
    batch, prompt_tokens, new_tokens = (
        wanted[name] for name in ("batch", "prompt_tokens", "new_tokens")
    )
    for kind, count in (("warm-up", wanted["warm_up"]), ("timed", wanted["timed"])):
        for n in range(count):
            prompts = [[wanted["start"], *next(pieces)] for _ in range(batch)]
            write(directory / f"{kind}-{n:02}.bin", prompts, new_tokens)
    for n in range(wanted["checks"]):
        length = int(rng.integers(LEAST_PROMPT, prompt_tokens + 1))
        prompts = [
            [wanted["start"], *next(pieces)][:length] for _ in range(rng.integers(1, batch + 1))
        ]
        write(directory / f"check-{n:02}.bin", prompts, int(rng.integers(1, new_tokens + 1)))


def hidden_pieces(text: np.ndarray, length: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """Pieces of the text that do not overlap, in random order, cut anew at every grading."""
    shifted = text[rng.integers(length) :]
    for n in rng.permutation(len(shifted) // length):
        yield shifted[n * length : (n + 1) * length].tolist()


def write(file: Path, prompts: list[list[int]], new_tokens: int) -> None:
    file.write_text(json.dumps({"prompts": prompts, "new_tokens": new_tokens}))
