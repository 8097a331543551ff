"""Answers questions about a literature: python tool.py INPUTS OUTPUTS

One search with the words of the question; the model states the facts of what was found.
"""

import json
import re
import sys
from pathlib import Path

from services import ask, search

PAPERS = 10


def main() -> None:
    inputs, outputs = Path(sys.argv[1]), Path(sys.argv[2])
    questions = json.loads((inputs / "questions.json").read_text(encoding="utf-8"))
    for name, question in questions.items():
        report = {"papers": review(question)}
        (outputs / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")


def review(question: str) -> list[dict]:
    found = search(re.sub(r"[^\w\s-]", " ", question), max_results=PAPERS)
    facts = state_facts(found)
    return [{"id": paper["id"], **facts.get(place, {})} for place, paper in enumerate(found, 1)]


def state_facts(papers: list[dict]) -> dict[int, dict]:
    """What the model says about each paper, by its place in the list."""
    if not papers:
        return {}
    listed = "\n\n".join(
        f"[{place}] {paper['title']}\n{paper['abstract']}" for place, paper in enumerate(papers, 1)
    )
    prompt = (
        "For each paper, state the method that it proposes, the data set of its main result and "
        "the number of that result. Answer with one line of JSON for each paper, like "
        '{"paper": 1, "method": "...", "dataset": "...", "value": "..."}, and nothing else.\n\n'
    )
    facts = {}
    for line in ask(prompt + listed).splitlines():
        try:
            values = json.loads(line)
            facts[int(values.pop("paper"))] = values
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return facts


if __name__ == "__main__":
    main()
