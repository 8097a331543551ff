"""Hypothesis strategies that damage a valid submission, by the formats of its files."""

import csv
import io
import json
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Submission = dict[str, bytes | str | None]
"""Contents by path; None is a directory, a text the target of a link."""

MAX_BYTES = 3_000_000
LONG_INTEGER = "9" * 5000
CELLS = (
    "",
    " ",
    "-",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e308",
    "-1e308",
    "1e-320",
    "0",
    "-1",
    "2",
    "1.5",
    LONG_INTEGER,
    "0x10",
    "\N{ARABIC-INDIC DIGIT ONE}",
    "\N{SUPERSCRIPT TWO}",
    "1_0",
    "True",
    "None",
    "\u202e1",
    "\ufeff1",
    "\u200b",
    "\x00",
    "\x1b[31m",
    '"',
    "'",
    "1 1",
    "0 0",
    "65 1",
    "1 65",
    "1 1 1",
    "1  1",
    "1,1",
    "\r",
    "\n",
    "1\n",
    "a" * 140_000,
    "1 2 3 " * 30,
    "\ud83d",
    "=1+1",
    "3" * 400,
)
BYTES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\r",
    b"\n",
    b'"',
    b",",
    b"{",
    b"}",
    b"[",
    b"\xe2\x80\xae",
    b"\x80",
    b"\\",
    b"PK\x03\x04",
    b"\x93NUMPY\x01\x00",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"(" * 300,
    b"\n" * 3000,
    b"1," * 70_000,
)
RAW_JSON = (
    "null",
    "true",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    LONG_INTEGER,
    "-1",
    "0",
    "1.5",
    '""',
    "[]",
    "{}",
    '"\\ud800"',
    '"\\u0000"',
    "[" * 900 + "]" * 900,
    "[" * 100_000,
    '{"a":' * 900 + "1" + "}" * 900,
    '"' + "x" * 100_000 + '"',
    "[1, 2]",
    '"1"',
    '{"id": "p1"}',
    "4" * 4300,
    str(2**63),
    str(2**64),
)
BIBTEX = (
    "@article{k, title={" * 500,
    "@a{k," * 1000,
    "{" * 5000,
    '"' * 5000,
    "}" * 5000,
    "@a{k, year=" + LONG_INTEGER,
    "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}" * 2000,
    "@a{k, author={" + " and " * 5000 + "}}",
)
SOURCES = (
    "(" * 5000,
    "-" * 20_000 + "1",
    "x=" * 5000 + "1",
    LONG_INTEGER,
    "\x00",
    "if 1:\n" * 200,
    "a.b" * 3000,
    "def f(:",
    "'''",
    "\u202e",
    "# coding: utf-7",
    "# coding: nothing\n",
    "f'{" * 300,
    "[" * 150 + "]" * 150,
    "1 if 1 else " * 2000 + "1",
    "lambda: " * 3000 + "1",
    "x" * 100_000,
    "0x" + "f" * 20_000,
)


@st.composite
def damaged(draw: Draw, files: dict[str, bytes], fixed: tuple[str, ...]) -> Submission:
    """The submission after one to three damages to files that do not come from the harness."""
    submission: Submission = dict(files)
    names = sorted(name for name in files if not name.startswith(fixed or (" ",)))
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(names))
        contents = submission.get(name)
        if isinstance(contents, bytes):
            _damage_file(draw, submission, name, contents)
    return submission


def _damage_file(draw: Draw, submission: Submission, name: str, contents: bytes) -> None:
    ways: list[Callable[[Draw, str, bytes], bytes]] = [damage_bytes]
    ways += [by_format(name, contents)] * 4
    place = draw(st.integers(0, 19))
    if place == 0:
        del submission[name]
    elif place == 1:
        submission[name] = None
    elif place == 2:
        submission[name] = draw(st.sampled_from(("/etc/passwd", "/data/private", "nowhere", name)))
    else:
        submission[name] = draw(st.sampled_from(ways))(draw, name, contents)[:MAX_BYTES]


def by_format(name: str, contents: bytes) -> Callable[[Draw, str, bytes], bytes]:
    if name.endswith(".csv"):
        return damage_csv
    if name.endswith(".safetensors"):
        return damage_safetensors
    if name.endswith(".py"):
        return damage_source
    if contents.startswith(b"\x93NUMPY"):
        return damage_npy
    return damage_json if contents.startswith(b"{") else damage_bytes


def damage_bytes(draw: Draw, _name: str, contents: bytes) -> bytes:
    """Cut off, insert, repeat, or replace bytes."""
    place = draw(st.integers(0, len(contents)))
    end = min(len(contents), place + draw(st.integers(0, 40)))
    inserted = draw(st.one_of(st.sampled_from(BYTES), st.binary(max_size=20)))
    return bytes(
        draw(
            st.sampled_from(
                (
                    contents[:place],
                    contents[place:],
                    contents[:place] + inserted + contents[place:],
                    contents[:place] + inserted + contents[end:],
                    contents * 2,
                    inserted,
                )
            )
        )
    )


def damage_csv(draw: Draw, _name: str, contents: bytes) -> bytes:
    """Drop, double or move rows and columns, or put something else into a cell."""
    text = contents.decode("utf-8", "replace")
    rows = [line.split(",") for line in text.splitlines() if line] or [["a"]]
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(st.integers(0, len(rows[row]) - 1))
    cell = draw(st.one_of(st.sampled_from(CELLS), st.text(max_size=8)))
    match draw(st.integers(0, 9)):
        case 0:
            del rows[row]
        case 1:
            rows.append(rows[row])
        case 2:
            rows = rows[:1] + rows[1:] * draw(st.sampled_from((2, 300)))
        case 3:
            for each in rows:
                del each[column:]
        case 4:
            for each in rows:
                each.append(cell)
        case 5:
            rows = [each[::-1] for each in rows]
        case 6:
            rows[1:] = draw(st.permutations(rows[1:]))
        case 7:
            for each in rows[1:]:
                each[column : column + 1] = [cell]
        case _:
            rows[row][column] = cell
    written = io.StringIO()
    ends = draw(st.sampled_from(("\n", "\n", "\r\n", "\r", "\r\r\n")))
    csv.writer(written, lineterminator=ends, quoting=draw(st.sampled_from((0, 1)))).writerows(rows)
    return written.getvalue().encode("utf-8", "surrogatepass")


def damage_json(draw: Draw, _name: str, contents: bytes) -> bytes:
    """Replace a part of the value, or a name in it."""
    try:
        value = json.loads(contents)
    except (ValueError, RecursionError):
        return damage_bytes(draw, _name, contents)
    raw = draw(st.sampled_from(RAW_JSON))
    text = json.dumps(_replaced(draw, value), ensure_ascii=draw(st.booleans()))
    return text.replace(json.dumps(_MARK), raw).encode("utf-8", "surrogatepass")


_MARK = "what is put here"


def _replaced(draw: Draw, value: Any) -> Any:
    """The value with a mark, or a hostile text, somewhere in it."""
    if isinstance(value, str) and "@" in value and draw(st.booleans()):
        return value + draw(st.one_of(st.sampled_from(BIBTEX), st.text(max_size=20)))
    if not value or not isinstance(value, dict | list) or draw(st.integers(0, 5)) == 0:
        return draw(st.one_of(st.just(_MARK), st.just(_MARK), st.text(max_size=5)))
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        changed = _replaced(draw, value[place])
        return [*value[:place], changed, *value[place + draw(st.integers(0, 1)) :]]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.integers(0, 5)) == 0:
        kept = {name: part for name, part in value.items() if name != key}
        return kept | ({draw(st.text(max_size=5)): value[key]} if draw(st.booleans()) else {})
    return {**value, key: _replaced(draw, value[key])}


def damage_safetensors(draw: Draw, name: str, contents: bytes) -> bytes:
    """Change the header, its length, or the values after it."""
    length = struct.unpack("<Q", contents[:8].ljust(8, b"\0"))[0]
    header, values = contents[8 : 8 + length], contents[8 + length :]
    match draw(st.integers(0, 4)):
        case 0:
            wrong = draw(st.sampled_from((0, 1, 2, length - 1, length + 1, 2**63, 2**64 - 1)))
            return struct.pack("<Q", wrong % 2**64) + header + values
        case 1:
            values = draw(
                st.sampled_from((values[:-1], values + b"\0" * 4, b"", b"\xff" * len(values)))
            )
        case _:
            header = damage_json(draw, name, header)
    return struct.pack("<Q", len(header)) + header + values


def damage_npy(draw: Draw, _name: str, contents: bytes) -> bytes:
    """Change what the header of an array says."""
    length = struct.unpack("<H", contents[8:10].ljust(2, b"\0"))[0]
    header, values = contents[10 : 10 + length].decode("latin-1"), contents[10 + length :]
    replaced = draw(
        st.sampled_from(
            (
                ("<f8", "|O"),
                ("<f8", ">f8"),
                ("<f8", "<f4"),
                ("<f8", "<c16"),
                ("<f8", "V8"),
                ("<f8", "M8[s]"),
                ("(", "(0x" + "f" * 9000 + ", "),
                ("(", "(-1, "),
                ("(", "(10**9, "),
                ("(", "(True, "),
                ("(", "((1,), "),
                ("False", "True"),
                ("False", "None"),
                ("'shape'", "'shap'"),
                ("{", "[" * 500),
                ("{", "{" + LONG_INTEGER + ": 1, "),
                ("}", ""),
                ("(", "(" + LONG_INTEGER + ", "),
            )
        )
    )
    changed = header.replace(*replaced).encode("latin-1")
    version = draw(st.sampled_from((contents[:8], b"\x93NUMPY\x03\x00", b"\x93NUMPY\x09\x00")))
    kept = draw(st.sampled_from((values, values, values[:-1], values + b"\0", b"")))
    return bytes(version) + struct.pack("<H", len(changed) % 65536) + changed + bytes(kept)


def damage_source(draw: Draw, _name: str, contents: bytes) -> bytes:
    source = draw(st.one_of(st.sampled_from(SOURCES), st.text(max_size=20)))
    added = source.encode("utf-8", "surrogatepass")
    return bytes(draw(st.sampled_from((contents + b"\n" + added, added + b"\n" + contents, added))))
