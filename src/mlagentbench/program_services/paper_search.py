"""A paper search with the query format of arXiv's API, over the records of a task.

    GET /api/query?search_query=all:glacier AND ti:"mass balance"&start=0&max_results=10
    GET /api/query?id_list=2401.00012,2402.01234

    query   = part ((AND | OR | ANDNOT) part)*    from left to right; the default operator is OR
    part    = "(" query ")" | [field ":"] (word | "a phrase")
    field   = ti | au | abs | all

Matching papers are ranked by BM25 over the words of the query; the answer is an Atom feed.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from mlagentbench.records import Record

MAX_RESULTS = 25
DEFAULT_RESULTS = 10
MAX_QUERY = 2000
MAX_BRACKETS = 50
ADDRESS = "http://papers.example/abs/"
K1, B = 1.2, 0.75
_OPERATORS = ("AND", "OR", "ANDNOT")
_ATOM, _OPEN = "http://www.w3.org/2005/Atom", "http://a9.com/-/spec/opensearch/1.1/"
_ARXIV = "http://arxiv.org/schemas/atom"


class PaperRecord(Record):
    """A paper in the index."""

    id: str
    title: str
    authors: tuple[str, ...]
    journal: str
    year: int
    published: str
    abstract: str


class BadQuery(Exception):
    """The query is malformed; the text says why."""


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:[-'.][^\W_]+)*", text.lower())


Scores = dict[int, float]
"""The matching papers by index, with their BM25 scores."""


class FieldIndex:
    """The words of one field of all papers."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.words = [words_of(text) for text in texts]
        self._mean_length = sum(map(len, self.words)) / max(1, len(self.words))
        self._counts: dict[str, dict[int, int]] = {}
        for number, words in enumerate(self.words):
            for word, count in Counter(words).items():
                self._counts.setdefault(word, {})[number] = count

    def scores(self, word: str) -> Scores:
        counts = self._counts.get(word, {})
        rarity = math.log(1 + (len(self.words) - len(counts) + 0.5) / (len(counts) + 0.5))
        found = {}
        for number, count in counts.items():
            length = 1 - B + B * len(self.words[number]) / self._mean_length
            found[number] = rarity * count * (K1 + 1) / (count + K1 * length)
        return found


class PaperSearch:
    """An index over papers."""

    def __init__(self, papers: Sequence[PaperRecord]) -> None:
        self.papers = papers
        self._number = {paper.id: number for number, paper in enumerate(papers)}
        titles = [paper.title for paper in papers]
        authors = [" ".join(paper.authors) for paper in papers]
        abstracts = [paper.abstract for paper in papers]
        everything = map(" ".join, zip(titles, authors, abstracts, strict=True))
        texts: dict[str, Iterable[str]] = {
            "ti": titles,
            "au": authors,
            "abs": abstracts,
            "all": everything,
        }
        self._fields = {field: FieldIndex(of_field) for field, of_field in texts.items()}

    def answer(self, query: Mapping[str, str]) -> bytes:
        """The Atom feed for the parameters of a request; raises BadQuery."""
        start = _number(query, "start", 0, 10_000)
        size = _number(query, "max_results", DEFAULT_RESULTS, MAX_RESULTS)
        text, ids = query.get("search_query", ""), query.get("id_list", "")
        if not text and not ids:
            raise BadQuery("search_query or id_list is needed")
        if len(text) + len(ids) > MAX_QUERY:
            raise BadQuery(f"the query is longer than {MAX_QUERY} characters")
        found = self.search(text) if text else None
        if ids:
            named = [number for part in ids.split(",") if (number := self._named(part)) is not None]
            found = named if found is None else [number for number in found if number in named]
        found = found or []
        return _feed([self.papers[number] for number in found[start : start + size]], found, start)

    def _named(self, text: str) -> int | None:
        return self._number.get(re.sub(r"v\d+$", "", text.strip().removeprefix(ADDRESS)))

    def search(self, text: str) -> list[int]:
        """The indices of the matching papers, best first."""
        parts = re.findall(r'(?:\w+:)?"[^"]*"|[()]|[^\s()"]+', text)
        if parts.count("(") > MAX_BRACKETS:
            raise BadQuery(f"more than {MAX_BRACKETS} brackets")
        match, rest = self._query(parts)
        if rest:
            raise BadQuery("a closing bracket without an opening one")
        return sorted(match, key=lambda number: (-match[number], number))

    def _query(self, parts: list[str]) -> tuple[Scores, list[str]]:
        match, parts = self._part(parts)
        while parts and parts[0] != ")":
            operator = parts[0] if parts[0] in _OPERATORS else "OR"
            other, parts = self._part(parts[1:] if parts[0] in _OPERATORS else parts)
            match = _combined(match, operator, other)
        return match, parts

    def _part(self, parts: list[str]) -> tuple[Scores, list[str]]:
        if not parts or parts[0] in (*_OPERATORS, ")"):
            raise BadQuery("a search term is missing")
        if parts[0] == "(":
            match, rest = self._query(parts[1:])
            if not rest:
                raise BadQuery("a bracket is not closed")
            return match, rest[1:]
        return self._term(parts[0]), parts[1:]

    def _term(self, part: str) -> Scores:
        field, sign, value = part.partition(":")
        if not sign or part.startswith('"'):
            field, value = "all", part
        if field not in self._fields:
            raise BadQuery(f"unknown field {field!r}; known: {', '.join(self._fields)}")
        words = words_of(value)
        if not words:
            return {}
        index = self._fields[field]
        scores = index.scores(words[0])
        for word in words[1:]:
            scores = _combined(scores, "AND", index.scores(word))
        if len(words) == 1:
            return scores
        return {n: score for n, score in scores.items() if _holds(index.words[n], words)}


def _holds(text: list[str], phrase: list[str]) -> bool:
    size = len(phrase)
    return any(text[place : place + size] == phrase for place in range(len(text) - size + 1))


def _combined(one: Scores, operator: str, other: Scores) -> Scores:
    if operator == "ANDNOT":
        return {number: score for number, score in one.items() if number not in other}
    numbers = one.keys() & other.keys() if operator == "AND" else one.keys() | other.keys()
    return {number: one.get(number, 0.0) + other.get(number, 0.0) for number in numbers}


def _number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal() or len(text) > 9:
        raise BadQuery(f"{name} must be a whole number, not {text[:50]!r}")
    return min(int(text), most)


def _feed(papers: Sequence[PaperRecord], found: Sequence[int], start: int) -> bytes:
    feed = ElementTree.Element(
        "feed", {"xmlns": _ATOM, "xmlns:opensearch": _OPEN, "xmlns:arxiv": _ARXIV}
    )
    for name, value in (
        ("totalResults", len(found)),
        ("startIndex", start),
        ("itemsPerPage", len(papers)),
    ):
        ElementTree.SubElement(feed, f"opensearch:{name}").text = str(value)
    for paper in papers:
        entry = ElementTree.SubElement(feed, "entry")
        ElementTree.SubElement(entry, "id").text = f"{ADDRESS}{paper.id}"
        ElementTree.SubElement(entry, "published").text = paper.published
        ElementTree.SubElement(entry, "title").text = paper.title
        ElementTree.SubElement(entry, "summary").text = paper.abstract
        for name in paper.authors:
            author = ElementTree.SubElement(entry, "author")
            ElementTree.SubElement(author, "name").text = name
        ElementTree.SubElement(entry, "arxiv:journal_ref").text = f"{paper.journal} ({paper.year})"
    return bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True))
