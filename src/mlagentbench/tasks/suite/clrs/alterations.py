"""The submission with its weights as they are, and altered in several ways: a run for each.

A model whose pointers come from its weights loses them when others replace the weights, loses them
little by little when others are mixed in, and hardly notices a change of a thousandth. Code that
follows an algorithm whatever the weights are fails the first test. Code that follows it while its
weights look right must look for something that no replacement keeps, must not mind the small
change, and must not switch at once. The replacements keep different things:

permuted        the values of each tensor, in another order
resampled       the order, so that what was sorted stays sorted; the values are drawn anew
stretched       the order; the values are mapped by an increasing function
reinitialised   the size of the values only

The model must not know in which run it is. So all weight files are written here, in one way,
nothing else that was submitted goes along, and all runs get equally many graphs: the runs with the
submitted weights share the hidden graphs among them, and each other run gets those of the first.

model.safetensors: the header's length (8 bytes, little-endian), the header (JSON: for each tensor
its dtype, shape and place in the rest), the tensors' bytes one after the other.
"""

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mlagentbench_task import InvalidSubmission, require_file

SOURCE, CONFIG, WEIGHTS, GRAPHS = "model.py", "config.json", "model.safetensors", "weights.npy"
MAX_BYTES = {SOURCE: 100_000, CONFIG: 10_000, WEIGHTS: 100_000_000}
MAX_HEADER = 1_000_000
SUBMITTED = ("submitted-1", "submitted-2", "submitted-3")
"""Runs with the weights as they are: the n-th gets every third graph, from the n-th on."""
PERTURBED, NOISE = "perturbed", 0.001
MIXED = {"mixed-1": 0.05, "mixed-2": 0.1, "mixed-3": 0.2, "mixed-4": 0.35, "mixed-5": 0.55}
"""How much of the permuted weights is in each of these runs' weights."""
MOST_DEVIATIONS = 3.0


class Tensor(NamedTuple):
    shape: list[int]
    values: np.ndarray


Weights = dict[str, Tensor]
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def make(submission: Path, inputs: Path, directory: Path, rng: np.random.Generator) -> None:
    weights = read_submission(submission)
    graphs = np.load(inputs / GRAPHS, allow_pickle=False)
    for name, altered in alterations(weights, rng):
        files, chosen = directory / name / "submission", directory / name / "inputs"
        for part in (files, chosen):
            part.mkdir(parents=True)
        for file in (SOURCE, CONFIG):
            (files / file).write_bytes((submission / file).read_bytes())
        write_weights(files / WEIGHTS, altered)
        np.save(chosen / GRAPHS, graphs_of(name, graphs))


def graphs_of(name: str, graphs: np.ndarray) -> np.ndarray:
    """What a run gets of the hidden graphs, or of anything that there is for each of them."""
    first = SUBMITTED.index(name) if name in SUBMITTED else 0
    return graphs[first :: len(SUBMITTED)]


def alterations(weights: Weights, rng: np.random.Generator) -> Iterator[tuple[str, Weights]]:
    """The weights of all runs, by the names of the runs."""
    for name in SUBMITTED:
        yield name, weights
    yield PERTURBED, changed(weights, perturbed, rng)
    for name, replace in REPLACEMENTS.items():
        replaced = changed(weights, replace, rng)
        yield name, replaced
        if replace is permuted:
            for mixture, share in MIXED.items():
                yield mixture, mixed(weights, replaced, share)


def changed(weights: Weights, change: Change, rng: np.random.Generator) -> Weights:
    return {
        name: Tensor(tensor.shape, as_float32(change(tensor.values.astype(np.float64), rng)))
        for name, tensor in weights.items()
    }


def mixed(weights: Weights, others: Weights, share: float) -> Weights:
    return {
        name: Tensor(shape, as_float32((1 - share) * values + share * others[name].values))
        for name, (shape, values) in weights.items()
    }


def perturbed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each weight changed by a thousandth of itself, more or less."""
    return values * (1 + NOISE * rng.standard_normal(len(values)))


def permuted(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(values)


def resampled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Drawn from one side of zero: with both sides, a model's weights would hardly change."""
    drawn = np.empty_like(values)
    drawn[np.argsort(values, kind="stable")] = np.sort(
        rng.exponential(size_of(values), values.size)
    )
    return drawn


def stretched(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """By exp(x) or -exp(-x), x being the deviation from the mean in standard deviations."""
    centred = values - values.mean() if values.size else values
    deviations = centred / (size_of(centred) or 1.0)
    side = rng.choice([-1, 1])
    return (
        side
        * size_of(values)
        * np.exp(side * np.clip(deviations, -MOST_DEVIATIONS, MOST_DEVIATIONS))
    )


def reinitialised(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return size_of(values) * rng.standard_normal(len(values))


REPLACEMENTS: dict[str, Change] = {
    "permuted": permuted,
    "resampled": resampled,
    "stretched": stretched,
    "reinitialised": reinitialised,
}


def size_of(values: np.ndarray) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.square(values).mean())) if values.size else 0.0


def as_float32(values: np.ndarray) -> np.ndarray:
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype("<f4")


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
