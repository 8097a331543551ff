"""Checks every reply of the submitted layer, then scores its time against the starter's."""

import ast
import io
import math
from pathlib import Path

import numpy as np
from mlagentbench_task import (
    Grade,
    InvalidSubmission,
    grade_timings,
    read_timings,
    require_file,
)

FILE = "convolution.py"
FUNCTION = "forward"
RTOL = 1e-9
ATOL = 1e-12
MAX_HEADER = 20_000
LARGEST_SIDE = 2**63

ALLOWED_MODULES = {
    "numpy", "__future__", "collections", "dataclasses", "functools", "itertools", "math",
    "operator", "typing",
}  # fmt: skip
REFUSED_NAMES = {
    "attrgetter", "builtins", "compile", "ctypes", "ctypeslib", "eval", "exec", "f2py", "getattr",
    "globals", "load", "memmap", "methodcaller", "modules", "open", "os", "setattr", "subprocess",
    "sys", "testing", "vars",
}  # fmt: skip
HARMLESS_NAMES = {"__all__", "__annotations__", "__doc__", "__init__", "__name__"}


def grade(outputs: Path, private: Path, public: Path) -> Grade:
    check_source(outputs / FILE)
    timings = read_timings(outputs)
    for request in sorted((outputs / "requests").glob("*.bin")):
        check_reply(request, outputs / "submission" / request.name)
    return grade_timings(timings)


def check_format(submission: Path, public: Path) -> None:
    check_source(submission)


def check_source(file: Path) -> None:
    """Raise InvalidSubmission unless the file defines the layer and keeps to numpy."""
    require_file(file, max_bytes=1_000_000)
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSubmission(f"{FILE} is not valid Python: {error}") from error
    for node in ast.walk(tree):
        for name in refused_names(node):
            raise InvalidSubmission(
                f"{FILE}, line {getattr(node, 'lineno', 1)}: {name} is not allowed; "
                f"use numpy only (see Rules in the problem)"
            )
    if FUNCTION not in defined_names(tree):
        raise InvalidSubmission(
            f"{FILE} defines no {FUNCTION}(inputs, filters, bias, stride, padding)"
        )


def refused_names(node: ast.AST) -> list[str]:
    """What this piece of the program imports or names that is not allowed."""
    match node:
        case ast.Import(names=names):
            return [a.name for a in names if not allowed_module(a.name)]
        case ast.ImportFrom(module=module, names=names, level=level):
            if level or not allowed_module(module or ""):
                return ["." * level + (module or "")]
            return [a.name for a in names if not allowed_name(a.name)]
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return [] if allowed_name(name) else [name]
        case _:
            return []


def allowed_module(name: str) -> bool:
    first, *rest = name.split(".")
    return first in ALLOWED_MODULES and all(allowed_name(part) for part in rest)


def allowed_name(name: str) -> bool:
    hidden = name.startswith("__") and name.endswith("__") and name not in HARMLESS_NAMES
    return name not in REFUSED_NAMES and not hidden


def defined_names(tree: ast.Module) -> set[str]:
    """The names that importing the file binds, as far as can be seen."""
    names = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name for alias in aliases)
    return names


def check_reply(request: Path, reply: Path) -> None:
    """Raise InvalidSubmission unless the reply holds the right outputs for the request."""
    images, filters, bias, (stride, padding) = read_request(request)
    expected = convolve(images / 255.0, filters, bias, int(stride), int(padding))
    shapes = f"images {images.shape}, filters {filters.shape}, stride {stride}, padding {padding}"
    outputs = read_reply(reply, expected.shape, shapes)
    wrong = ~np.isclose(outputs, expected, rtol=RTOL, atol=ATOL)
    if wrong.any():
        first = tuple(int(place) for place in np.argwhere(wrong)[0])
        raise InvalidSubmission(
            f"wrong outputs for {shapes}: {int(wrong.sum())} of {wrong.size}, first at {first}: "
            f"{outputs[first]!r}, expected {expected[first]!r}"
        )


def read_request(file: Path) -> list[np.ndarray]:
    with file.open("rb") as handle:
        return [np.load(handle, allow_pickle=False) for _ in range(4)]


def read_reply(file: Path, expected: tuple[int, ...], shapes: str) -> np.ndarray:
    """The outputs in a reply; its header is checked before its size is believed."""
    require_file(file, MAX_HEADER + 8 * math.prod(expected))
    stream = io.BytesIO(file.read_bytes())
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran_order, dtype = read(stream)
    except Exception as error:  # a crafted header makes numpy raise almost anything
        raise InvalidSubmission(f"the reply for {shapes} is not a .npy array") from error
    if dtype != np.float64:
        raise InvalidSubmission(f"outputs for {shapes} are {str(dtype)[:50]}, expected float64")
    if shape != expected:
        shown = shape if all(side < LARGEST_SIDE for side in shape) else "a strange one"
        raise InvalidSubmission(f"outputs for {shapes} have the shape {shown}, expected {expected}")
    values = stream.read()
    if len(values) != dtype.itemsize * int(np.prod(expected)):
        raise InvalidSubmission(f"the reply for {shapes} is cut short or too long")
    return np.frombuffer(values, dtype).reshape(expected, order="F" if fortran_order else "C")


def convolve(
    inputs: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """The right outputs: each filter weight times the pixels it meets, added up."""
    rows, columns = filters.shape[:2]
    padded = np.pad(inputs, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height = (padded.shape[1] - rows) // stride + 1
    width = (padded.shape[2] - columns) // stride + 1
    outputs = np.tile(bias, (len(inputs), height, width, 1))
    for row, column in np.ndindex(rows, columns):
        pixels = padded[
            :, row : row + stride * height : stride, column : column + stride * width : stride
        ]
        outputs += pixels[:, :height, :width] @ filters[row, column]
    return np.maximum(outputs, 0.0)
