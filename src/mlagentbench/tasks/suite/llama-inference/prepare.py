"""Lays out the checkpoint, a few example prompts, and the hidden text that requests are drawn from.

Requests are token ids, so that nothing but the model is timed. Hidden prompts come from the text's
test part, the examples from its validation part.
"""

import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from mlagentbench_task import Findings

ARCHIVE = "wikitext-2-raw-v1.zip"
FOLDER = "wikitext-2-raw"
WEIGHTS = "model.safetensors"
CHECKPOINT = ("config.json", WEIGHTS, "tokenizer.json")
OFFICIAL_LINES = {"valid": 3_760, "test": 4_358}
EXAMPLES = 8
SETTINGS = {
    "batch": 4, "prompt_tokens": 32, "new_tokens": 32, "threads": 2,
    "warm_up": 1, "timed": 9, "checks": 3,
}  # fmt: skip
"""The full tier's; the mini tier brings its own."""
PUBLIC_SETTINGS = ("batch", "prompt_tokens", "new_tokens", "threads")


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    config = json.loads((raw / "config.json").read_text())
    check_checkpoint(config, read_header(raw / WEIGHTS))
    given = raw / "requests.json"
    settings = json.loads(given.read_text()) if given.is_file() else SETTINGS
    start = config["bos_token_id"]

    (public / "model").mkdir()
    for name in CHECKPOINT:
        shutil.copyfile(raw / name, public / "model" / name)
    serving = {name: settings[name] for name in PUBLIC_SETTINGS}
    (public / "serving.json").write_text(json.dumps(serving, indent=2) + "\n")
    shown = token_ids(raw / "tokenizer.json", read_text(raw, "valid"))
    examples = example_prompts(shown, settings["prompt_tokens"], start, rng)
    (public / "prompts.json").write_text(json.dumps(examples) + "\n")

    np.save(private / "text.npy", token_ids(raw / "tokenizer.json", read_text(raw, "test")))
    asked = {**settings, "start": start}
    (private / "requests.json").write_text(json.dumps(asked, indent=2) + "\n")


def check_raw(raw: Path) -> Findings:
    """What is different from WikiText-2, and whether the checkpoint can be used."""
    findings = Findings()
    for part, lines in OFFICIAL_LINES.items():
        name = f"wiki.{part}.raw"
        with findings.reading(name):
            findings.expect(f"lines of {name}", read_contents(raw, part).count("\n"), lines)
    config, header = None, None
    with findings.reading("config.json"):
        config = json.loads((raw / "config.json").read_text())
        if "bos_token_id" not in config:
            findings.faults.append("config.json lacks bos_token_id")
    with findings.reading(WEIGHTS):
        header = read_header(raw / WEIGHTS)
    if config is not None and header is not None:
        try:
            check_checkpoint(config, header)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            findings.faults.append(
                f"the checkpoint cannot be used: {type(error).__name__}: {error}"
            )
    return findings


def check_checkpoint(config: dict[str, Any], header: dict[str, Any]) -> None:
    """Raise ValueError unless it is a Llama of the plain kind, all of it in one file."""
    if config.get("model_type") != "llama":
        raise ValueError(f"config.json: model_type is {config.get('model_type')!r}, not 'llama'")
    for name in ("rope_scaling", "attention_bias", "mlp_bias"):
        if config.get(name):
            raise ValueError(f"config.json: {name} is not supported")
    for name, shape in tensor_shapes(config).items():
        found = header.get(name)
        if found is None:
            raise ValueError(f"{WEIGHTS} lacks {name}")
        if tuple(found["shape"]) != shape:
            raise ValueError(f"{WEIGHTS}: {name} has the shape {found['shape']}, expected {shape}")
        if found["dtype"] not in ("F16", "BF16", "F32"):
            raise ValueError(f"{WEIGHTS}: {name} is {found['dtype']}, expected F16, BF16 or F32")


def tensor_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The tensors that a checkpoint with this config.json must have."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    size = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries, keys = (size * config[f"num_{name}_heads"] for name in ("attention", "key_value"))
    shapes = {
        "model.embed_tokens": (config["vocab_size"], hidden),
        "model.norm": (hidden,),
    }
    if not config.get("tie_word_embeddings"):
        shapes["lm_head"] = (config["vocab_size"], hidden)
    for n in range(config["num_hidden_layers"]):
        layer = {
            "input_layernorm": (hidden,),
            "self_attn.q_proj": (queries, hidden),
            "self_attn.k_proj": (keys, hidden),
            "self_attn.v_proj": (keys, hidden),
            "self_attn.o_proj": (hidden, queries),
            "post_attention_layernorm": (hidden,),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }
        shapes |= {f"model.layers.{n}.{name}": shape for name, shape in layer.items()}
    return {f"{name}.weight": shape for name, shape in shapes.items()}


def read_header(file: Path) -> dict[str, Any]:
    """What a safetensors file says that it holds."""
    with file.open("rb") as handle:
        (size,) = struct.unpack("<Q", handle.read(8))
        if size > file.stat().st_size:
            raise ValueError(f"{file.name} is not a complete safetensors file")
        return json.loads(handle.read(size))


def read_text(raw: Path, part: str) -> list[str]:
    """The lines of a part of the text that are not empty."""
    return [line for line in read_contents(raw, part).split("\n") if line.strip()]


def read_contents(raw: Path, part: str) -> str:
    """A part of the text: out of the archive, or unpacked."""
    name = f"{FOLDER}/wiki.{part}.raw"
    if (raw / name).is_file():
        contents = (raw / name).read_bytes()
    else:
        with zipfile.ZipFile(raw / ARCHIVE) as archive:
            if name not in archive.namelist():
                raise FileNotFoundError(f"{ARCHIVE} lacks {name}")
            contents = archive.read(name)
    return contents.decode("utf-8")


def token_ids(tokenizer: Path, lines: list[str]) -> np.ndarray:
    """The text as one row of tokens."""
    from tokenizers import Tokenizer

    encoded = Tokenizer.from_file(str(tokenizer)).encode_batch(lines, add_special_tokens=False)
    return np.array([token for line in encoded for token in line.ids], dtype=np.int32)


def example_prompts(
    tokens: np.ndarray, length: int, start: int, rng: np.random.Generator
) -> list[list[int]]:
    """Prompts as requests have them: the start token, then a piece of the text."""
    pieces = len(tokens) // (length - 1)
    if pieces < EXAMPLES:
        raise ValueError(f"wiki.valid.raw has {len(tokens)} tokens, too few for {EXAMPLES} prompts")
    chosen = rng.choice(pieces, size=EXAMPLES, replace=False)
    return [[start, *tokens[n * (length - 1) : (n + 1) * (length - 1)].tolist()] for n in chosen]
