"""How reports are scored."""

import json
import math
from pathlib import Path

PLACES = 20
FACTS = ("method", "dataset", "value")


class BadReport(Exception):
    """A report has another form than it should; the text says what is wrong."""


def read_report(file: Path) -> list[dict]:
    """The papers of a report, as many as are scored; BadReport when its form is wrong."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadReport(f"{file.name} is not a JSON file: {error}") from None
    papers = report.get("papers") if isinstance(report, dict) else None
    if not isinstance(papers, list):
        raise BadReport(f'{file.name} is not of the form {{"papers": [...]}}')
    for place, paper in enumerate(papers[:PLACES], start=1):
        if not isinstance(paper, dict) or not isinstance(paper.get("id"), str):
            raise BadReport(f"{file.name}, paper {place}: not an object with a text as its id")
    return papers[:PLACES]


def score_report(papers: list[dict], right: dict[str, dict]) -> tuple[float, float]:
    """nDCG@20 of the papers, and the accuracy of the facts stated about them."""
    relevant = []
    facts = 0
    seen = set()
    for paper in papers:
        known = None if paper["id"] in seen else right.get(paper["id"])
        seen.add(paper["id"])
        relevant.append(known is not None)
        facts += 0 if known is None else sum(agree(paper.get(key), known[key]) for key in FACTS)
    best = sum(discount(place) for place in range(min(PLACES, len(right))))
    gain = sum(discount(place) for place, found in enumerate(relevant) if found)
    stated = max(len(papers), min(PLACES, len(right)))
    return gain / best, facts / (len(FACTS) * stated)


def discount(place: int) -> float:
    return 1 / math.log2(place + 2)


def agree(stated: object, right: str) -> bool:
    """Numbers agree as numbers, names whatever their case."""
    if not isinstance(stated, str | int | float) or isinstance(stated, bool):
        return False
    text = str(stated).strip()
    try:
        return float(text) == float(right)
    except (ValueError, OverflowError):
        return text.casefold() == right.casefold()
