"""What may be in a submitted model's directory; looked at before anything in it is loaded.

Nothing here executes or unpickles what was submitted: files are listed, JSON is parsed, and the
header of the weights is read as the safetensors format defines it.
"""

import json
import math
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench_task import InvalidSubmission, parse_json, require_file

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
REQUIRED = (CONFIG, WEIGHTS, TOKENIZER)
OTHERS = {
    "README.md", "added_tokens.json", "generation_config.json", "merges.txt",
    "special_tokens_map.json", "tokenizer_config.json", "vocab.json",
}  # fmt: skip
"""What save_pretrained may write beside them; it has no influence on the score."""
MAX_PARAMETERS = 130_000_000
MAX_WEIGHTS_BYTES = 600_000_000
MAX_JSON_BYTES = 50_000_000
MAX_HEADER_BYTES = 10_000_000
MAX_LAYERS = 100
MAX_POSITIONS = 131_072
LEAST_POSITIONS = 16
MAX_VOCABULARY = 300_000
MAX_SETTING = 10_000_000
DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
ARCHITECTURES = {
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "opt": "OPTForCausalLM",
    "phi": "PhiForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
"""Decoder-only models, in which no setting lets a token see those after it."""
REFUSED_SETTINGS = {
    "auto_map": "code of one's own is not loaded",
    "quantization_config": "weights are stored as plain numbers",
    "compression_config": "weights are stored as plain numbers",
    "is_encoder_decoder": "the model is a decoder only",
    "add_cross_attention": "the model is a decoder only",
    "pruned_heads": "save the smaller model instead",
    "num_labels": "a language model has no labels",
}


@dataclass(frozen=True)
class ModelFiles:
    """A directory that passed: its configuration, and the shapes in its weights by name."""

    directory: Path
    config: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def read_model_files(directory: Path) -> ModelFiles:
    """Raises InvalidSubmission, with the reason, unless all files may be loaded."""
    require_plain_files(directory)
    config = read_json(directory / CONFIG)
    check_config(config)
    for name in ("tokenizer_config.json", "generation_config.json"):
        if (directory / name).exists() and "auto_map" in read_json(directory / name):
            raise InvalidSubmission(f"{name}: auto_map: code of one's own is not loaded")
    check_tokenizer(read_json(directory / TOKENIZER))
    shapes = read_shapes(directory / WEIGHTS)
    stored = sum(math.prod(shape) for shape in shapes.values())
    if stored > MAX_PARAMETERS:
        raise InvalidSubmission(f"{WEIGHTS} holds {stored:,} numbers, more than {MAX_PARAMETERS:,}")
    return ModelFiles(directory, config, shapes)


def require_plain_files(directory: Path) -> None:
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        raise InvalidSubmission(f"{directory.name}/ not found") from None
    if not stat.S_ISDIR(status.st_mode):
        raise InvalidSubmission(f"{directory.name} is not a directory")
    names = sorted(entry.name for entry in os.scandir(directory))
    for name in names:
        if name not in REQUIRED and name not in OTHERS:
            raise InvalidSubmission(
                f"{directory.name}/{name[:100]} has no place in a submission; allowed are "
                f"{', '.join([*REQUIRED, *sorted(OTHERS)])}"
            )
        require_file(directory / name, MAX_WEIGHTS_BYTES if name == WEIGHTS else MAX_JSON_BYTES)
    for name in REQUIRED:
        if name not in names:
            raise InvalidSubmission(f"{directory.name}/{name} not found")


def read_json(file: Path) -> dict[str, Any]:
    values = parse_json(file.read_bytes(), file.name)
    if not isinstance(values, dict):
        raise InvalidSubmission(f"{file.name} does not hold a JSON object")
    return values


def check_config(config: dict[str, Any]) -> None:
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        raise InvalidSubmission(
            f"{CONFIG}: model_type {str(kind)[:50]!r} is not on the list of decoder-only models: "
            f"{', '.join(ARCHITECTURES)}"
        )
    named = config.get("architectures") or [ARCHITECTURES[kind]]
    if named != [ARCHITECTURES[kind]]:
        raise InvalidSubmission(
            f"{CONFIG}: architectures {str(named)[:100]} is not [{ARCHITECTURES[kind]!r}]"
        )
    for name, reason in REFUSED_SETTINGS.items():
        if config.get(name):
            raise InvalidSubmission(f"{CONFIG}: {name}: {reason}")
    for name, value in config.items():
        if isinstance(value, int) and abs(value) > MAX_SETTING:
            raise InvalidSubmission(f"{CONFIG}: {name[:100]} is larger than {MAX_SETTING:,}")


def check_tokenizer(tokenizer: dict[str, Any]) -> None:
    model = tokenizer.get("model")
    if not isinstance(model, dict):
        raise InvalidSubmission(f"{TOKENIZER}: no model in it")
    if model.get("dropout"):
        raise InvalidSubmission(f"{TOKENIZER}: dropout: a text must always give the same tokens")
    for name in ("truncation", "padding"):
        if tokenizer.get(name):
            raise InvalidSubmission(f"{TOKENIZER}: {name} must be null")


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """The shapes in a safetensors file, whose header must describe all of its bytes."""
    size = file.stat().st_size
    with file.open("rb") as handle:
        start = handle.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise InvalidSubmission(f"{WEIGHTS} is not a safetensors file: no header")
        text = handle.read(length)
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        tensors = {name: Tensor.from_entry(entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidSubmission(f"{WEIGHTS} is not a safetensors file: {error}") from error
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        size_fits = tensor.end - tensor.begin == tensor.bytes
        if tensor.begin != end or tensor.end > size or not size_fits:
            raise InvalidSubmission(f"{WEIGHTS}: {name[:100]}: its place does not fit its shape")
        end = tensor.end
    if 8 + length + end != size:
        raise InvalidSubmission(
            f"{WEIGHTS} has {size:,} bytes, its header describes {8 + length + end:,}"
        )
    return {name: tensor.shape for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    begin: int
    end: int
    bytes: int

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> "Tensor":
        """Raises ValueError, TypeError or KeyError when the header's entry is not one."""
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"type {str(entry['dtype'])[:20]} is not one of {', '.join(DTYPES)}")
        shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
            raise ValueError("a shape or an offset is not a whole number")
        if len(shape) > 8:
            raise ValueError("a shape has more than 8 sides")
        return cls(shape, begin, end, math.prod(shape) * DTYPES[entry["dtype"]])
