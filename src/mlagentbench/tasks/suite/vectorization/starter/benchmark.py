"""Checks the layer in convolution.py against the examples; with --time, times it, too."""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from convolution import forward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true", help="time the shape in layer.json")
    arguments = parser.parse_args()
    print(f"validation max_error={largest_error():.3g}")
    if arguments.time:
        print(f"seconds per call: {seconds_per_call():.5f}")


def largest_error() -> float:
    """The largest difference from the right outputs, over all examples."""
    errors = []
    for n, example in enumerate(json.loads(Path("examples.json").read_text())):
        inputs, filters, bias, expected = (
            np.array(example[name], dtype=np.float64)
            for name in ("inputs", "filters", "bias", "outputs")
        )
        outputs = forward(inputs, filters, bias, example["stride"], example["padding"])
        if outputs.shape != expected.shape:
            raise SystemExit(f"example {n}: shape {outputs.shape}, expected {expected.shape}")
        if outputs.dtype != np.float64:
            raise SystemExit(f"example {n}: dtype {outputs.dtype}, expected float64")
        errors.append(float(np.abs(outputs - expected).max()))
    return max(errors)


def seconds_per_call(repetitions: int = 5) -> float:
    """The median time of a call with the shape that is timed, on random data."""
    layer = json.loads(Path("layer.json").read_text())
    rng = np.random.default_rng(int(os.environ.get("MLAGENTBENCH_SEED", "0")))
    times = []
    for _ in range(repetitions):
        inputs = rng.random((layer["batch"], layer["height"], layer["width"], layer["channels"]))
        filters = rng.normal(
            size=(layer["rows"], layer["columns"], layer["channels"], layer["filters"])
        )
        bias = rng.normal(size=layer["filters"])
        start = time.perf_counter()
        forward(inputs, filters, bias, layer["stride"], layer["padding"])
        times.append(time.perf_counter() - start)
    return float(np.median(times))


if __name__ == "__main__":
    main()
