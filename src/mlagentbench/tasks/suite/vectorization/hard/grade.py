"""Checks every reply of the submitted layer, then scores its time against the starter's.

What is the same in all tiers is in the task's own grade.py.
"""

import ast
import importlib.util
from pathlib import Path

import numpy as np
from mlagentbench_task import Grade, InvalidSubmission, grade_timings, read_timings
from numpy.lib.stride_tricks import sliding_window_view

FILE = "convolution.py"
FUNCTIONS = {"prepare": "filters, bias, stride, padding", "forward": "inputs, layer"}
TOLERANCE = 1e-9
"""Of the largest right output: sums may be added up in any order, but not in single precision."""

_place = Path(__file__).resolve().parents[1] / "grade.py"
_spec = importlib.util.spec_from_file_location("plain_grade", _place)
plain = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plain)
plain.ALLOWED_MODULES.add("json")


def grade(outputs: Path, private: Path, public: Path) -> Grade:
    check_source(outputs / FILE)
    timings = read_timings(outputs)
    layer = published_layer(public)
    for request in sorted((outputs / "requests").glob("*.bin")):
        check_reply(request, outputs / "submission" / request.name, layer)
    return grade_timings(timings)


def check_format(submission: Path, public: Path) -> None:
    check_source(submission)


def check_source(file: Path) -> None:
    """Raise InvalidSubmission unless the file defines the layer and keeps to numpy."""
    plain.check_source(file)
    defined = plain.defined_names(ast.parse(file.read_bytes()))
    for name, arguments in FUNCTIONS.items():
        if name not in defined:
            raise InvalidSubmission(f"{FILE} defines no {name}({arguments})")


def published_layer(public: Path) -> list[np.ndarray]:
    """Filters, bias, and stride and padding."""
    with np.load(public / "layer.npz") as file:
        filters, bias = file["weights"] * file["scale"], file["bias"]
        return [filters, bias, np.array([file["stride"], file["padding"]])]


def check_reply(request: Path, reply: Path, published: list[np.ndarray]) -> None:
    """Raise InvalidSubmission unless the reply holds the right outputs for the request."""
    images, *other = read_request(request)
    filters, bias, (stride, padding) = other or published
    expected = convolve(images / 255.0, filters, bias, int(stride), int(padding))
    shapes = f"images {images.shape}, filters {filters.shape}, stride {stride}, padding {padding}"
    outputs = plain.read_reply(reply, expected.shape, shapes)
    wrong = ~(np.abs(outputs - expected) <= TOLERANCE * max(1.0, expected.max()))
    if wrong.any():
        first = tuple(int(place) for place in np.argwhere(wrong)[0])
        raise InvalidSubmission(
            f"wrong outputs for {shapes}: {int(wrong.sum())} of {wrong.size}, first at {first}: "
            f"{outputs[first]!r}, expected {expected[first]!r}"
        )


def read_request(file: Path) -> list[np.ndarray]:
    arrays, size = [], file.stat().st_size
    with file.open("rb") as handle:
        while handle.tell() < size:
            arrays.append(np.load(handle, allow_pickle=False))
    return arrays


def convolve(
    inputs: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """The right outputs: each row of the filters times the pixels it meets, added up."""
    rows, columns, _, count = filters.shape
    padded = np.pad(inputs, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    windows = sliding_window_view(padded, (rows, columns), axis=(1, 2))[:, ::stride, ::stride]
    outputs = np.tile(bias, (*windows.shape[:3], 1))
    for row in range(rows):
        pieces = windows[..., row, :].swapaxes(-1, -2).reshape(*windows.shape[:3], -1)
        outputs += pieces @ filters[row].reshape(-1, count)
    return np.maximum(outputs, 0.0)
