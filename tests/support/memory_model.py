"""An Inspect model that knows some rows of a CSV file by heart, and guesses the others.

`memory/SHARE` knows the answers to that share of the questions, in per cent. The file is the one
that FILE names.
"""

import csv
import hashlib
import io
import os
from functools import cache
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from scripted_model import text_reply

FILE = "MEMORY_MODEL_FILE"
FAILS_AFTER = "MEMORY_MODEL_FAILS_AFTER"
asked: list[str] = []
"""All prompts, in the order in which they were asked."""


@modelapi(name="memory")
class MemoryModel(ModelAPI):
    """Looks rows up in the file; what it does not find, it takes from the last row shown."""

    async def generate(
        self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        prompt = input[-1].text
        if len(asked) == int(os.environ.get(FAILS_AFTER, "-1")):
            raise RuntimeError("out of order")
        asked.append(prompt)
        number = int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 100
        return text_reply(_reply(prompt, knows=number < int(self.model_name)))


def lines_of(prompt: str) -> list[list[str]]:
    """The table in a prompt."""
    shown = prompt.split("\n\n")[1].splitlines()
    return list(csv.reader(shown))


def _reply(prompt: str, *, knows: bool) -> str:
    header, *shown = lines_of(prompt)
    last = shown[-1]
    unknown = [place for place, cell in enumerate(last) if cell == "?"]
    found = _look_up(header, last, unknown) if knows else None
    if found is not None:
        return found
    if not unknown:
        return _line(["", *last[1:]])
    return ",".join(shown[-2][place] for place in unknown)


def _look_up(header: list[str], last: list[str], unknown: list[int]) -> str | None:
    rows = _read_rows(os.environ[FILE], tuple(header))
    for number, row in enumerate(rows[:-1]):
        if all(row[place] == cell for place, cell in enumerate(last) if place not in unknown):
            return ",".join(row[place] for place in unknown) if unknown else _line(rows[number + 1])
    return None


@cache
def _read_rows(file: str, header: tuple[str, ...]) -> list[list[str]]:
    with Path(file).open(encoding="utf-8") as lines:
        names, *rows = csv.reader(lines)
    places = [names.index(name) for name in header]
    return [[row[place] for place in places] for row in rows]


def _line(cells: list[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(cells)
    return written.getvalue()
