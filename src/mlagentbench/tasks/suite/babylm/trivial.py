"""Models without training: they count bytes or words, alone or in pairs.

Each is a one-layer Llama whose layer does nothing: its last normalisation passes the token's
vector on, and the output matrix turns that into log-probabilities.
"""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

MAX_WORDS = 4000
BYTE_SCORE = -30.0
"""Of a single byte among the words of a vocabulary: only what is not there is spelt."""
PRIOR = 20.0
"""How many observations the frequencies of all words are worth beside those after one word."""
LINES_AT_ONCE = 10_000
WORD = re.compile(r" ?[A-Za-z]+| ?[!-/:-@\[-`{-~]+|\n")


def predictors(public: Path) -> dict[str, dict[str, bytes]]:
    """The files of each model, by the predictor's name."""
    texts = [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted((public / "babylm_10M").iterdir())
    ]
    by_bytes, by_words = vocabulary_of([]), vocabulary_of(frequent_words(texts))
    byte_tokens = [encode(by_bytes, text) for text in texts]
    word_tokens = [encode(by_words, text) for text in texts]
    return {
        "uniform_bytes": known_good(public),
        "byte_frequencies": single_model(by_bytes, frequencies(by_bytes, byte_tokens)),
        "byte_pairs": pair_model(by_bytes, byte_tokens),
        "word_frequencies": single_model(by_words, frequencies(by_words, word_tokens)),
        "word_pairs": pair_model(by_words, word_tokens),
    }


def known_good(public: Path) -> dict[str, bytes]:
    """A model that needs no text."""
    by_bytes = vocabulary_of([])
    size = by_bytes.get_vocab_size()
    return single_model(by_bytes, np.full(size, 1 / size))


def frequent_words(texts: list[str]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(WORD.findall(text))
    return [(word, count) for word, count in counts.most_common(MAX_WORDS) if count > 1]


def vocabulary_of(words: list[tuple[str, int]]) -> Tokenizer:
    """A tokenizer that knows these words, and spells the others byte by byte."""
    total = sum(count for _, count in words)
    pieces = [(byte, BYTE_SCORE) for byte in sorted(pre_tokenizers.ByteLevel.alphabet())]
    known = {byte for byte, _ in pieces}
    for word, count in words:
        piece = word.replace(" ", "Ġ").replace("\n", "Ċ")
        if piece not in known:
            pieces.append((piece, float(np.log(count / total))))
    pieces.append(("<s>", 2 * BYTE_SCORE))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=len(pieces) - 1))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def encode(tokenizer: Tokenizer, text: str) -> np.ndarray:
    lines = text.splitlines(keepends=True)
    parts = ["".join(lines[at : at + LINES_AT_ONCE]) for at in range(0, len(lines), LINES_AT_ONCE)]
    return np.concatenate([np.array(tokenizer.encode(part).ids) for part in parts])


def frequencies(tokenizer: Tokenizer, texts: list[np.ndarray]) -> np.ndarray:
    counts = np.bincount(np.concatenate(texts), minlength=tokenizer.get_vocab_size()) + 0.5
    return counts / counts.sum()


def single_model(tokenizer: Tokenizer, probabilities: np.ndarray) -> dict[str, bytes]:
    """Predicts the same whatever the token before: all tokens have the vector (1, 1)."""
    halves = np.log(probabilities) / 2
    vectors = np.ones((len(probabilities), 2))
    return model_files(tokenizer, vectors, np.stack([halves, halves], axis=1), np.float32)


def pair_model(tokenizer: Tokenizer, texts: list[np.ndarray]) -> dict[str, bytes]:
    """Predicts from the token before: each token has a direction of its own."""
    size = tokenizer.get_vocab_size()
    pairs = np.zeros(size * size, dtype=np.int64)
    for tokens in texts:
        pairs += np.bincount(tokens[:-1] * size + tokens[1:], minlength=size * size)
    counts = pairs.reshape(size, size)
    prior = PRIOR * frequencies(tokenizer, texts)
    after = (counts + prior) / (counts.sum(axis=1, keepdims=True) + PRIOR)
    length = np.sqrt(size)
    return model_files(tokenizer, np.eye(size) * length, np.log(after).T / length, np.float16)


def model_files(
    tokenizer: Tokenizer, vectors: np.ndarray, outputs: np.ndarray, dtype: type
) -> dict[str, bytes]:
    """The files of a Llama that multiplies `outputs` with its last token's vector."""
    vocabulary, width = vectors.shape
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": vocabulary,
        "hidden_size": width, "intermediate_size": 1, "num_hidden_layers": 1,
        "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 2,
        "max_position_embeddings": 512, "tie_word_embeddings": False,
        "bos_token_id": vocabulary - 1, "eos_token_id": vocabulary - 1,
    }  # fmt: skip
    layer = "model.layers.0"
    shapes = {
        **{f"{layer}.self_attn.{name}_proj.weight": (2, width) for name in "qkv"},
        f"{layer}.self_attn.o_proj.weight": (width, 2),
        **{f"{layer}.mlp.{name}_proj.weight": (1, width) for name in ("gate", "up")},
        f"{layer}.mlp.down_proj.weight": (width, 1),
    }
    norms = (f"{layer}.input_layernorm", f"{layer}.post_attention_layernorm", "model.norm")
    weights = {
        "model.embed_tokens.weight": vectors.astype(dtype),
        "lm_head.weight": np.ascontiguousarray(outputs, dtype),
        **{name: np.zeros(shape, dtype) for name, shape in shapes.items()},
        **{f"{name}.weight": np.ones(width, dtype) for name in norms},
    }
    return {
        "config.json": json.dumps(config, indent=2).encode(),
        "tokenizer.json": tokenizer.to_str().encode(),
        "model.safetensors": save(weights, metadata={"format": "pt"}),
    }
