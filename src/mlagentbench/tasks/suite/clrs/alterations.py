"""The submission with its weights as they are, permuted, and slightly changed.

A model whose pointers come from its weights loses them when the weights of each tensor are
permuted, and hardly notices a change of a thousandth. Code that follows an algorithm whatever the
weights are fails the first test; code that wants to see exactly its own weights fails the second.
The model must not know which of the three it is given, so all weight files are written here, in
one way, and nothing else that was submitted goes along.

model.safetensors: the header's length (8 bytes, little-endian), the header (JSON: for each tensor
its dtype, shape and place in the rest), the tensors' bytes one after the other.
"""

import json
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mlagentbench_task import InvalidSubmission, require_file

SOURCE, CONFIG, WEIGHTS = "model.py", "config.json", "model.safetensors"
MAX_BYTES = {SOURCE: 100_000, CONFIG: 10_000, WEIGHTS: 100_000_000}
MAX_HEADER = 1_000_000
NOISE = 0.001


class Tensor(NamedTuple):
    shape: list[int]
    values: np.ndarray


def make(submission: Path, directory: Path, rng: np.random.Generator) -> None:
    tensors = read_submission(submission)
    changes = {"submitted": unchanged, "permuted": permuted, "perturbed": perturbed}
    for name, change in changes.items():
        alteration = directory / name
        alteration.mkdir()
        for file in (SOURCE, CONFIG):
            (alteration / file).write_bytes((submission / file).read_bytes())
        changed = {key: Tensor(t.shape, change(t.values, rng)) for key, t in tensors.items()}
        write_weights(alteration / WEIGHTS, changed)


def unchanged(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return values


def permuted(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(values)


def perturbed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each weight changed by a thousandth of itself, more or less."""
    factors = 1 + NOISE * rng.standard_normal(len(values))
    return (values.astype(np.float64) * factors).astype("<f4")


def read_submission(submission: Path) -> dict[str, Tensor]:
    """The tensors of a submission whose files are all there and of the right form."""
    if submission.is_symlink() or not submission.is_dir():
        raise InvalidSubmission(f"{submission.name} is not a directory")
    for name, limit in MAX_BYTES.items():
        require_file(submission / name, limit)
    require_model(submission / SOURCE)
    require_config(submission / CONFIG)
    return read_weights(submission / WEIGHTS)


def require_model(file: Path) -> None:
    """Python source is compiled, never run, here."""
    try:
        compile(file.read_bytes(), file.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSubmission(f"{file.name} is not valid Python: {error}") from error


def require_config(file: Path) -> None:
    if not isinstance(read_json(file.read_bytes(), file.name), dict):
        raise InvalidSubmission(f"{file.name} is not a JSON object, the arguments of Model")


def read_json(text: bytes, name: str) -> Any:
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidSubmission(f"{name} is not JSON: {str(error)[:200]}") from error


def read_weights(file: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; they must be float32, finite, and fill the file."""
    contents = file.read_bytes()
    length = struct.unpack("<Q", contents[:8])[0] if len(contents) >= 8 else 0
    if not 2 <= length <= min(MAX_HEADER, len(contents) - 8):
        raise InvalidSubmission(f"{file.name} is not a safetensors file: it has no header")
    header = read_json(contents[8 : 8 + length], f"the header of {file.name}")
    if not isinstance(header, dict):
        raise InvalidSubmission(f"the header of {file.name} is not a JSON object")
    header.pop("__metadata__", None)
    values = np.frombuffer(contents, np.uint8, offset=8 + length)
    places = {name: place_of(name, entry) for name, entry in header.items()}
    end, tensors = 0, {}
    for name, (begin, stop) in sorted(places.items(), key=lambda item: item[1]):
        if begin != end or stop > len(values):
            raise InvalidSubmission(f"{file.name}: tensor {name[:100]!r} is not in its place")
        end = stop
        tensors[name] = Tensor(header[name]["shape"], values[begin:stop].view("<f4"))
        if not np.isfinite(tensors[name].values).all():
            raise InvalidSubmission(f"{file.name}: tensor {name[:100]!r} has values not finite")
    if end != len(values):
        raise InvalidSubmission(f"{file.name}: {len(values) - end} bytes belong to no tensor")
    return tensors


def place_of(name: str, entry: Any) -> tuple[int, int]:
    """Where a tensor begins and ends, if its header entry makes sense."""
    shown = f"{WEIGHTS}: tensor {name[:100]!r}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InvalidSubmission(f"{shown} has no dtype, shape and data_offsets")
    if entry["dtype"] != "F32":
        raise InvalidSubmission(f"{shown} is {str(entry['dtype'])[:20]}; save float32 (F32) only")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        whole = isinstance(numbers, list) and all(type(n) is int and n >= 0 for n in numbers)
        if not whole or len(numbers) > 16:
            raise InvalidSubmission(f"{shown} has a strange shape or strange data_offsets")
    size = 4
    for n in shape:
        size *= n
    if len(offsets) != 2 or offsets[1] - offsets[0] != size:
        raise InvalidSubmission(f"{shown}: shape {shape} does not fit {offsets}")
    return offsets[0], offsets[1]


def write_weights(file: Path, tensors: dict[str, Tensor]) -> None:
    """A file that looks the same for all values: names sorted, no metadata."""
    header, end = {}, 0
    for name, tensor in sorted(tensors.items()):
        begin, end = end, end + 4 * len(tensor.values)
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    parts = [tensor.values.tobytes() for _, tensor in sorted(tensors.items())]
    file.write_bytes(b"".join([struct.pack("<Q", len(text)), text, *parts]))
