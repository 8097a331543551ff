"""The trivial program: the best two hits of one search with the words of the sentence.

PREFIX is where it searches: everywhere, or in titles, which hold no asides.
"""

import json
import re
import sys
from pathlib import Path

from services import search

HITS = 2
PREFIX = ""


def main() -> None:
    inputs, outputs = Path(sys.argv[1]), Path(sys.argv[2])
    paragraphs = json.loads((inputs / "paragraphs.json").read_text(encoding="utf-8"))
    for name, paragraph in paragraphs.items():
        citations, entries = {}, {}
        for sentence, place in re.findall(r"([^.]*)\[(\d+)\]", paragraph):
            words = re.sub(r"[^\w\s-]", " ", sentence).split()
            found = search(" ".join(PREFIX + word for word in words), max_results=HITS)
            citations[place] = [paper["id"] for paper in found]
            entries |= {paper["id"]: bibtex_entry(paper) for paper in found}
        answer = {"citations": citations, "bibtex": "\n".join(entries.values())}
        (outputs / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")


def bibtex_entry(paper: dict) -> str:
    authors = " and ".join(paper["authors"])
    return (
        f"@article{{{paper['id']}, author = {{{authors}}}, title = {{{paper['title']}}}, "
        f"journal = {{{paper['journal']}}}, year = {{{paper['year']}}}}}"
    )


if __name__ == "__main__":
    main()
