"""The mini tier: a tiny Llama with random weights, and text of made-up words.

The files are those of a checkpoint on Hugging Face and of WikiText-2. Weights are whole multiples
of powers of two, so that every machine makes the same ones.

A draw draws the weights, the words with their tokens, and the text. Sizes are what is timed, and
stay.
"""

import json
import struct
from pathlib import Path

import numpy as np

LAYERS, HIDDEN, INNER, HEADS, KEY_HEADS = 2, 128, 384, 8, 4
VOCABULARY = 1024
SPECIAL = ["<unk>", "<s>", "</s>"]
WORDS = {"valid": 4_000, "test": 40_000}
SENTENCE = (4, 24)
GRID = 1024
"""Weights are drawn from 2 x GRID + 1 values: more than 8 bits can hold, fewer than float16 can."""
SETTINGS = {
    "batch": 4, "prompt_tokens": 32, "new_tokens": 32, "threads": 1,
    "warm_up": 2, "timed": 11, "checks": 4,
}  # fmt: skip


def make(raw: Path, rng: np.random.Generator) -> None:
    config = make_config()
    (raw / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_safetensors(raw / "model.safetensors", draw_weights(rng))
    words = draw_words(VOCABULARY - len(SPECIAL), rng)
    (raw / "tokenizer.json").write_text(json.dumps(make_tokenizer(words)))
    text = raw / "wikitext-2-raw"
    text.mkdir()
    for part, count in WORDS.items():
        (text / f"wiki.{part}.raw").write_text(draw_text(words, count, rng))
    (raw / "requests.json").write_text(json.dumps(SETTINGS))


def make_config() -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "vocab_size": VOCABULARY,
        "torch_dtype": "float16",
    }


def draw_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights by their names; scales are chosen so that tokens far back matter."""
    keys = HIDDEN // HEADS * KEY_HEADS
    shapes = {"model.embed_tokens.weight": ((VOCABULARY, HIDDEN), 1.0)}
    for n in range(LAYERS):
        layer = f"model.layers.{n}."
        shapes |= {
            f"{layer}self_attn.q_proj.weight": ((HIDDEN, HIDDEN), 0.25),
            f"{layer}self_attn.k_proj.weight": ((keys, HIDDEN), 0.25),
            f"{layer}self_attn.v_proj.weight": ((keys, HIDDEN), 0.25),
            f"{layer}self_attn.o_proj.weight": ((HIDDEN, HIDDEN), 0.25),
            f"{layer}mlp.gate_proj.weight": ((INNER, HIDDEN), 0.125),
            f"{layer}mlp.up_proj.weight": ((INNER, HIDDEN), 0.125),
            f"{layer}mlp.down_proj.weight": ((HIDDEN, INNER), 0.125),
        }
    shapes["lm_head.weight"] = ((VOCABULARY, HIDDEN), 0.5)
    weights = {
        name: (rng.integers(-GRID, GRID + 1, size=shape) * (scale / GRID)).astype(np.float16)
        for name, (shape, scale) in shapes.items()
    }
    norms = ["model.norm"]
    for n in range(LAYERS):
        norms += [
            f"model.layers.{n}.{name}" for name in ("input_layernorm", "post_attention_layernorm")
        ]
    return weights | {f"{name}.weight": np.ones(HIDDEN, dtype=np.float16) for name in norms}


def write_safetensors(file: Path, tensors: dict[str, np.ndarray]) -> None:
    """The safetensors format: a header in JSON, its length before it, and the values."""
    header, start = {}, 0
    for name, values in tensors.items():
        place = [start, start + values.nbytes]
        header[name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": place}
        start = place[1]
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as handle:
        handle.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            handle.write(values.astype("<f2").tobytes())


def draw_words(count: int, rng: np.random.Generator) -> list[str]:
    """Different made-up words of two to four syllables."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(syllables, size=rng.integers(2, 5)))] = None
    return list(words)


def make_tokenizer(words: list[str]) -> dict:
    """A tokenizer.json in which every word is a token."""
    special = [
        {"id": n, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for n, token in enumerate(SPECIAL)
    ]  # fmt: skip
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: n for n, word in enumerate([*SPECIAL, *words])},
            "unk_token": SPECIAL[0],
        },
    }


def draw_text(words: list[str], count: int, rng: np.random.Generator) -> str:
    """Lines of words; the first words are the most frequent."""
    drawn = rng.integers(rng.integers(1, len(words) + 1, size=count))
    lines, start = [], 0
    while start < count:
        end = start + int(rng.integers(*SENTENCE))
        lines.append(" " + " ".join(words[n] for n in drawn[start:end]) + " ")
        start = end
    return "\n".join(lines) + "\n"
