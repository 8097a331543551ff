"""Long texts on a page: their beginning and their end, and how much is left out between."""

from dataclasses import dataclass

from mlagentbench.report.templating import visible


@dataclass(frozen=True)
class Clipped:
    """A text as far as it is shown, with unseen characters made visible."""

    head: str
    left_out: int = 0
    """Characters between head and tail."""
    tail: str = ""
    where: str = ""
    """Where the whole text is, when something is left out."""


def clip(text: str, most: int, where: str) -> Clipped:
    """At most about `most` characters of a text, cut at line ends where these are near."""
    if len(text) <= most:
        return Clipped(head=visible(text))
    head = _until_line(text[: most * 2 // 3])
    tail = _from_line(text[len(text) - most // 3 :])
    left_out = len(text) - len(head) - len(tail)
    return Clipped(head=visible(head), left_out=left_out, tail=visible(tail), where=where)


def _until_line(text: str) -> str:
    end = text.rfind("\n", len(text) * 3 // 4)
    return text if end < 0 else text[:end]


def _from_line(text: str) -> str:
    start = text.find("\n", 0, len(text) // 4)
    return text if start < 0 else text[start + 1 :]
