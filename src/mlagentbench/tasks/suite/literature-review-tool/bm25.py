"""The trivial program: one search with the question's words, facts by what they look like.

PREFIX is where it searches: everywhere, or in titles, which hold no asides.
"""

import json
import re
import sys
from pathlib import Path

from services import search

PREFIX = ""


def main() -> None:
    inputs, outputs = Path(sys.argv[1]), Path(sys.argv[2])
    questions = json.loads((inputs / "questions.json").read_text(encoding="utf-8"))
    for name, question in questions.items():
        words = re.sub(r"[^\w\s-]", " ", question).split()
        found = search(" ".join(PREFIX + word for word in words), max_results=10)
        papers = [{"id": paper["id"], **guess(paper)} for paper in found]
        (outputs / f"{name}.json").write_text(json.dumps({"papers": papers}), encoding="utf-8")


def guess(paper: dict) -> dict:
    """A name after words that introduce one, the first data set, and the first number."""
    about = f"{paper['title']}. {paper['abstract']}"
    names = re.findall(r"(?:method,?|Our|propose|with) ([A-Z][a-z]+)\b", about)
    datasets = re.findall(r"\b[A-Z]{3,}-\d+\b", paper["abstract"])
    numbers = re.findall(r"\b\d+\.\d\b", paper["abstract"])
    return {
        "method": names[0] if names else None,
        "dataset": datasets[0] if datasets else None,
        "value": numbers[0] if numbers else None,
    }


if __name__ == "__main__":
    main()
