"""The mini tier: 1,200 papers, 60 paragraphs with two places each.

A draw draws a literature: topics, their wordings, names, and how papers are written. What of this
is drawn from which tables is in mlagentbench_papers.
"""

from pathlib import Path
from typing import Any

from mlagentbench_papers import write_literature


def make(raw: Path, rng: Any) -> None:
    write_literature(raw / "hidden.json", rng, hidden=True, topics=120, per_topic=(3, 4), size=1200)
    write_literature(
        raw / "development.json", rng, hidden=False, topics=20, per_topic=(3, 4), size=240
    )
