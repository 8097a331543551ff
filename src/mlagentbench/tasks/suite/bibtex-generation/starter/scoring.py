"""How citations are scored: what a BibTeX entry says must be what the record says."""

import json
import re
import unicodedata
from pathlib import Path

FIELDS = ("author", "title", "journal", "year")
_ENTRY = re.compile(r"@(\w+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*")


class BadAnswer(Exception):
    """An answer has another form than it should; the text says what is wrong."""


def read_answer(file: Path) -> tuple[dict[str, list[str]], str]:
    """The keys cited at each place, and the BibTeX; BadAnswer when the form is wrong."""
    try:
        answer = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadAnswer(f"{file.name} is not a JSON file: {error}") from None
    form = '{"citations": {"1": ["KEY", ...], ...}, "bibtex": "..."}'
    if not isinstance(answer, dict) or not isinstance(answer.get("bibtex"), str):
        raise BadAnswer(f"{file.name} is not of the form {form}")
    citations = answer.get("citations")
    if not isinstance(citations, dict) or not all(
        isinstance(keys, list) and all(isinstance(key, str) for key in keys)
        for keys in citations.values()
    ):
        raise BadAnswer(f"{file.name}: citations is not of the form of {form}")
    return citations, answer["bibtex"]


def score_answer(
    citations: dict[str, list[str]],
    bibtex: str,
    right: dict[str, list[str]],
    records: dict[tuple, str],
) -> float:
    """F1 over pairs of place and record; a key without a right entry is a wrong pair."""
    entries = parse_bibtex(bibtex)
    cited, wrong = set(), 0
    for place, keys in citations.items():
        for key in dict.fromkeys(keys):
            record = records.get(identity(entries[key])) if key in entries else None
            wrong += record is None
            if record is not None:
                cited.add((place, record))
    wanted = {(place, record) for place, ids in right.items() for record in ids}
    return 2 * len(cited & wanted) / (len(cited) + wrong + len(wanted))


def index(records: list[dict]) -> dict[tuple, str]:
    """The ids of records by what their entries must say."""
    return {
        identity(
            {
                "author": " and ".join(record["authors"]),
                "title": record["title"],
                "journal": record["journal"],
                "year": str(record["year"]),
            }
        ): record["id"]
        for record in records
    }


def identity(fields: dict[str, str]) -> tuple:
    """What two entries of one record share: authors in order, title, journal, year."""
    values = {name: plain(fields.get(name, "")) for name in FIELDS}
    authors = tuple(first_last(name) for name in re.split(r"\s+and\s+", values["author"]))
    return (authors, values["title"], values["journal"], values["year"])


def first_last(name: str) -> str:
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma else name.strip()


def plain(text: str) -> str:
    """Without braces that only protect, escapes of & and %, and superfluous space."""
    text = re.sub(r"\\([&%#_$])", r"\1", text)
    text = unicodedata.normalize("NFC", re.sub(r"[{}]", "", text))
    return " ".join(text.split())


def parse_bibtex(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry by its key; what is no entry is passed over."""
    entries: dict[str, dict[str, str]] = {}
    place = 0
    while (match := _ENTRY.search(text, place)) is not None:
        parsed = _fields(text, match.end())
        place = match.end()
        if parsed is not None:
            fields, place = parsed
            entries.setdefault(match[2], fields)
    return entries


def _fields(text: str, place: int) -> tuple[dict[str, str], int] | None:
    """The fields from here to the closing brace of the entry, and where that is."""
    fields: dict[str, str] = {}
    while (match := _FIELD.match(text, place)) is not None:
        value = _value(text, match.end())
        if value is None:
            return None
        fields[match[1].lower()], place = value
        comma = re.compile(r"\s*,").match(text, place)
        if comma is None:
            break
        place = comma.end()
    end = re.compile(r"\s*\}").match(text, place)
    return None if end is None else (fields, end.end())


def _value(text: str, place: int) -> tuple[str, int] | None:
    """A value in braces or quotes, or a number, and where it ends."""
    number = re.compile(r"\d+").match(text, place)
    if number is not None:
        return number[0], number.end()
    if text[place : place + 1] not in ("{", '"'):
        return None
    quoted, depth = text[place] == '"', 0
    for here in range(place + quoted, len(text)):
        depth += {"{": 1, "}": -1}.get(text[here], 0)
        if quoted and depth == 0 and text[here] == '"':
            return text[place + 1 : here], here + 1
        if not quoted and depth == 0:
            return text[place + 1 : here], here + 1
        if depth < 0:
            return None
    return None
