# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""A table of word pairs as a Llama: its one layer does nothing, its output matrix is the table."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

BYTE_SCORE, UNSEEN = -30.0, 1e-7
START = "<s>"


def tokenizer_of(words: list[str]) -> Tokenizer:
    """Knows these words at the start of a line and within it, and spells the others."""
    pieces = [(byte, BYTE_SCORE) for byte in sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += [(space + word, -10.0) for space in ("", "Ġ") for word in words if len(word) > 1]
    pieces.append((START, 2 * BYTE_SCORE))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=len(pieces) - 1))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def token_table(tokenizer: Tokenizer, words: list[str], after: np.ndarray, stop: float):
    """Probabilities of token pairs: `after` has those of word pairs, `stop` ends a sentence."""
    size = tokenizer.get_vocab_size()
    first, later = (
        np.array([tokenizer.token_to_id(space + word) for word in words]) for space in ("", "Ġ")
    )
    end, line = tokenizer.token_to_id("."), tokenizer.token_to_id("Ċ")
    table = np.full((size, size), UNSEEN)
    for rows in (first, later):
        table[np.ix_(rows, later)] += (1 - stop) * after
        table[rows, end] += stop
    table[end, line] += 1
    for row in (line, size - 1):
        table[row, first] += 1 / len(words)
    return table / table.sum(axis=1, keepdims=True)


def bits_per_byte(tokenizer: Tokenizer, table: np.ndarray, text: str) -> float:
    tokens = np.array([len(table) - 1, *tokenizer.encode(text).ids])
    return float(-np.log2(table[tokens[:-1], tokens[1:]]).sum() / len(text.encode()))


def save(tokenizer: Tokenizer, table: np.ndarray, directory: Path) -> None:
    size = len(table)
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": size,
        "hidden_size": size, "intermediate_size": 1, "num_hidden_layers": 1,
        "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 2,
        "max_position_embeddings": 512, "tie_word_embeddings": False,
        "bos_token_id": size - 1, "eos_token_id": size - 1,
    }  # fmt: skip
    layer = "model.layers.0"
    shapes = {
        **{f"{layer}.self_attn.{name}_proj.weight": (2, size) for name in "qkv"},
        f"{layer}.self_attn.o_proj.weight": (size, 2),
        **{f"{layer}.mlp.{name}_proj.weight": (1, size) for name in ("gate", "up")},
        f"{layer}.mlp.down_proj.weight": (size, 1),
    }
    norms = (f"{layer}.input_layernorm", f"{layer}.post_attention_layernorm", "model.norm")
    scale = np.sqrt(size)
    weights = {
        "model.embed_tokens.weight": np.eye(size) * scale,
        "lm_head.weight": np.ascontiguousarray(np.log(table).T / scale),
        **{name: np.zeros(shape) for name, shape in shapes.items()},
        **{f"{name}.weight": np.ones(size) for name in norms},
    }
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tokenizer.save(str(directory / "tokenizer.json"))
    weights = {name: values.astype(np.float32) for name, values in weights.items()}
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
