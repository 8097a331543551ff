# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Writes generate.py from fast.py."""

import subprocess
import sys
from pathlib import Path


def write(recipes: list[tuple[str, ...]]) -> None:
    source = (Path(__file__).parent / "fast.py").read_text()
    given = "RECIPES: list[tuple[str, ...]] = [()]"
    Path("generate.py").write_text(source.replace(given, given.replace("[()]", repr(recipes))))
    subprocess.run([sys.executable, "benchmark.py"], check=True)
