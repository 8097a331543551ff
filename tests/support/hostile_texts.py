"""Texts that would move the cursor, change the terminal's title, or hide what is there."""

import re

LINE = "a line that nobody of ours wrote"
HOSTILE = (
    "\x1b]0;title\x07\x1b[2J\x9b31m\x7f\u202elive\u2066\u200b\xad\U000e0041 [red]red[bold]"
    f"[link=http:]link :smile:\r\t\n{LINE}"
)
"""Without a slash, so that it can be the name of a file."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u202e\u2066\ufeff\U000e0041]")


def unseen(shown: str) -> list[str]:
    """The characters in an output that are not visible, but for tabs and line ends."""
    return _UNSEEN.findall(shown)
