"""The mini tier: 1,200 papers, 60 questions."""

from pathlib import Path
from typing import Any

from mlagentbench_papers import write_literature


def make(raw: Path, rng: Any) -> None:
    write_literature(raw / "hidden.json", rng, hidden=True, topics=60, per_topic=(6, 10), size=1200)
    write_literature(
        raw / "development.json", rng, hidden=False, topics=12, per_topic=(6, 10), size=360
    )
