"""The full tier: 3,000 papers, 60 paragraphs with two places each, with more papers around each."""

from pathlib import Path
from typing import Any

from mlagentbench_papers import write_literature


def make(raw: Path, rng: Any) -> None:
    write_literature(raw / "hidden.json", rng, hidden=True, topics=120, per_topic=(4, 8), size=3000)
    write_literature(
        raw / "development.json", rng, hidden=False, topics=20, per_topic=(3, 4), size=240
    )
