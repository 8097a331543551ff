"""Finds the papers that a text should cite: python tool.py INPUTS OUTPUTS

One search with the words of the sentence; the model says which of the results it cites.
"""

import json
import re
import sys
from pathlib import Path

from services import ask, search

PAPERS = 5


def main() -> None:
    inputs, outputs = Path(sys.argv[1]), Path(sys.argv[2])
    paragraphs = json.loads((inputs / "paragraphs.json").read_text(encoding="utf-8"))
    for name, paragraph in paragraphs.items():
        answer = cite(paragraph)
        (outputs / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")


def cite(paragraph: str) -> dict:
    citations, entries = {}, {}
    for sentence, place in re.findall(r"([^.]*)\[(\d+)\]", paragraph):
        found = search(re.sub(r"[^\w\s-]", " ", sentence), max_results=PAPERS)
        chosen = select(sentence, found)
        citations[place] = [paper["id"] for paper in chosen]
        entries |= {paper["id"]: bibtex_entry(paper) for paper in chosen}
    return {"citations": citations, "bibtex": "\n".join(entries.values())}


def select(sentence: str, papers: list[dict]) -> list[dict]:
    if not papers:
        return []
    listed = "\n\n".join(
        f"[{place}] {paper['title']}\n{paper['abstract']}" for place, paper in enumerate(papers, 1)
    )
    prompt = "Which of these papers does the text cite? Answer with their numbers."
    said = ask(f"{prompt}\n\nTopic: {sentence.strip()}\n\n{listed}")
    numbers = {int(text) for text in re.findall(r"\b\d{1,3}\b", said)}
    return [paper for place, paper in enumerate(papers, 1) if place in numbers]


def bibtex_entry(paper: dict) -> str:
    fields = {
        "author": " and ".join(paper["authors"]),
        "title": paper["title"],
        "journal": paper["journal"].replace("&", r"\&"),
        "year": paper["year"],
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@article{{{paper['id']},\n{lines}}}\n"


if __name__ == "__main__":
    main()
