"""Checks the layer in convolution.py against examples and the published layer; --time times it."""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from convolution import forward, prepare
from serve import read_layer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true", help="time the published layer")
    arguments = parser.parse_args()
    errors = [error_of_example(one) for one in json.loads(Path("examples.json").read_text())]
    print(f"validation max_error={max([*errors, error_of_published()]):.3g}")
    if arguments.time:
        print(f"seconds per call: {seconds_per_call():.5f}")


def error_of_example(example: dict) -> float:
    inputs, filters, bias, expected = (
        np.array(example[name], dtype=np.float64)
        for name in ("inputs", "filters", "bias", "outputs")
    )
    layer = prepare(filters, bias, example["stride"], example["padding"])
    return relative_error(forward(inputs, layer), expected)


def error_of_published() -> float:
    """The largest error of the published layer at some pixels of random images."""
    filters, bias, stride, padding = read_layer("layer.npz")
    inputs = random_images()
    outputs = forward(inputs, prepare(filters, bias, stride, padding))
    padded = np.pad(inputs, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    rows, columns = filters.shape[:2]
    errors = []
    for y, x in np.ndindex(outputs.shape[1:3]):
        if (y + x) % 7 == 0:
            top, left = y * stride, x * stride
            patches = padded[:, top : top + rows, left : left + columns]
            expected = np.maximum(np.tensordot(patches, filters, axes=3) + bias, 0)
            errors.append(relative_error(outputs[:, y, x], expected))
    return max(errors)


def relative_error(outputs: np.ndarray, expected: np.ndarray) -> float:
    """The largest error as a share of the largest output."""
    if outputs.shape != expected.shape:
        raise SystemExit(f"shape {outputs.shape}, expected {expected.shape}")
    if outputs.dtype != np.float64:
        raise SystemExit(f"dtype {outputs.dtype}, expected float64")
    return float(np.abs(outputs - expected).max() / max(1.0, expected.max()))


def seconds_per_call(repetitions: int = 9) -> float:
    """The median time of a call on random images, after the layer has been prepared."""
    layer, times = prepare(*read_layer("layer.npz")), []
    for _ in range(repetitions):
        inputs = random_images()
        start = time.perf_counter()
        forward(inputs, layer)
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def random_images() -> np.ndarray:
    shape = json.loads(Path("layer.json").read_text())
    rng = np.random.default_rng(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    size = (shape["batch"], shape["height"], shape["width"], shape["channels"])
    return rng.integers(0, 256, size=size) / 255.0


if __name__ == "__main__":
    main()
