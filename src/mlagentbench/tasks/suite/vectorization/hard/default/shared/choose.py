# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Hands in one of the layers in this folder, or the fastest of several."""

import importlib
import subprocess
import sys
import time
from pathlib import Path

from benchmark import random_images
from serve import read_layer


def use(*names: str) -> None:
    """Write the layer that is fastest on random images to convolution.py, and check it."""
    name = min(names, key=seconds) if len(names) > 1 else names[0]
    Path("convolution.py").write_text(Path(f"{name}_layer.py").read_text())
    subprocess.run([sys.executable, "benchmark.py"], check=True)


def seconds(name: str, repetitions: int = 5) -> float:
    module = importlib.import_module(f"{name}_layer")
    layer, images, times = module.prepare(*read_layer("layer.npz")), random_images(), []
    for _ in range(repetitions):
        start = time.perf_counter()
        module.forward(images, layer)
        times.append(time.perf_counter() - start)
    return min(times)
