"""A Llama that is smaller than the mini tier's, and data made from it without a tokenizer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tabular_tasks import Prepared, TaskModules

LLAMA = TaskModules("llama-inference")
REQUESTS = LLAMA.load("requests")
SETTINGS = {
    "batch": 4, "prompt_tokens": 12, "new_tokens": 16, "threads": 1,
    "warm_up": 1, "timed": 9, "checks": 3,
}  # fmt: skip
TIMED_TOKENS = 9 * 4 * 16
START = 1


def tiny_maker() -> Any:
    """The mini tier's generator, set to a much smaller model."""
    maker: Any = LLAMA.load("mini")
    maker.LAYERS, maker.HIDDEN, maker.INNER, maker.HEADS, maker.KEY_HEADS = 2, 32, 48, 4, 2
    maker.VOCABULARY = 96
    maker.WORDS = {"valid": 600, "test": 3000}
    maker.SETTINGS = SETTINGS
    return maker


def tiny_raw(directory: Path, seed: int = 3) -> Path:
    """The raw files, in the official layout."""
    directory.mkdir(parents=True)
    tiny_maker().make(directory, np.random.default_rng(seed))
    return directory


def tiny_data(directory: Path) -> Prepared:
    """Prepared data as prepare() leaves them, with tokens drawn instead of words."""
    raw, data = tiny_raw(directory / "raw"), Prepared(directory)
    (data.public / "model").mkdir()
    for name in ("config.json", "model.safetensors"):
        (data.public / "model" / name).write_bytes((raw / name).read_bytes())
    rng = np.random.default_rng(4)
    prompts = LLAMA.prepare.example_prompts(rng.integers(3, 96, size=600), 12, START, rng)
    (data.public / "prompts.json").write_text(json.dumps(prompts))
    (data.public / "serving.json").write_text(json.dumps(SETTINGS))
    np.save(data.private / "text.npy", rng.integers(3, 96, size=3000, dtype=np.int32))
    (data.private / "requests.json").write_text(json.dumps({**SETTINGS, "start": START}))
    return data


def read_model(public: Path) -> Any:
    """The grader's model."""
    config = json.loads((public / "model" / "config.json").read_text())
    return LLAMA.grade.Llama(config, public / "model" / "model.safetensors")


def greedy(
    model: Any, prompts: list[list[int]], new_tokens: int, pick: Callable[..., Any] = np.argmax
) -> list[list[int]]:
    tokens = np.array(prompts)
    for _ in range(new_tokens):
        chosen = np.apply_along_axis(pick, 2, model.logits(tokens, last=1))
        tokens = np.concatenate([tokens, chosen], axis=1)
    told: list[list[int]] = tokens[:, len(prompts[0]) :].tolist()
    return told
