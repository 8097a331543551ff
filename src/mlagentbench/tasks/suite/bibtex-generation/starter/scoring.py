"""How citations are scored: what a BibTeX entry says must be what the record says."""

import json
import re
import unicodedata
from pathlib import Path

FIELDS = ("author", "title", "journal", "year")
LONGEST = 500
_ENTRY = re.compile(r"@(\w+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*")


class BadAnswer(Exception):
    """An answer has another form than it should; the text says what is wrong."""


def read_answer(file: Path) -> tuple[dict[str, list[str]], str]:
    """The keys cited at each place, and the BibTeX; BadAnswer when the form is wrong."""
    try:
        answer = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
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
    keys_cited = {key for keys in citations.values() for key in keys}
    found = {key: records.get(identity(entries[key])) for key in keys_cited & entries.keys()}
    cited, wrong = set(), 0
    for place, keys in citations.items():
        for key in dict.fromkeys(keys):
            record = found.get(key)
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
    text = " ".join(re.sub(r"[{}]", "", text).split())
    if len(text) > LONGEST:  # no record has it, and normalising takes time
        return text
    return " ".join(unicodedata.normalize("NFC", text).split())


def parse_bibtex(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry by its key; what is no entry is passed over."""
    entries: dict[str, dict[str, str]] = {}
    ends = _ends(text)
    place = 0
    while (match := _ENTRY.search(text, place)) is not None:
        parsed = _fields(text, match.end(), ends)
        place = match.end()
        if parsed is not None:
            fields, place = parsed
            values = {name: text[begin:end] for name, (begin, end) in fields.items()}
            entries.setdefault(match[2], values)
    return entries


def _ends(text: str) -> dict[int, int]:
    """Where the value ends that begins at a brace or a quote, for all of them that end."""
    ends: dict[int, int] = {}
    braces: list[int] = []
    quotes: list[int | None] = [None]  # the last quote, for each level of braces
    for here, character in enumerate(text):
        if character == "{":
            braces.append(here)
            quotes.append(None)
        elif character == "}" and braces:
            ends[braces.pop()] = here
            quotes.pop()
        elif character == "}":
            quotes[0] = None
        elif character == '"':
            if quotes[-1] is not None:
                ends[quotes[-1]] = here
            quotes[-1] = here
    return ends


def _fields(
    text: str, place: int, ends: dict[int, int]
) -> tuple[dict[str, tuple[int, int]], int] | None:
    """Where each field's value is, from here to the entry's closing brace, and where that is."""
    fields: dict[str, tuple[int, int]] = {}
    while (match := _FIELD.match(text, place)) is not None:
        value = _value(text, match.end(), ends)
        if value is None:
            return None
        begin, end, place = value
        fields[match[1].lower()] = (begin, end)
        comma = re.compile(r"\s*,").match(text, place)
        if comma is None:
            break
        place = comma.end()
    end = re.compile(r"\s*\}").match(text, place)
    return None if end is None else (fields, end.end())


def _value(text: str, place: int, ends: dict[int, int]) -> tuple[int, int, int] | None:
    """Where a value in braces or quotes, or a number, begins and ends, and what follows it."""
    number = re.compile(r"\d+").match(text, place)
    if number is not None:
        return number.start(), number.end(), number.end()
    if place not in ends:
        return None
    return place + 1, ends[place], ends[place] + 1
