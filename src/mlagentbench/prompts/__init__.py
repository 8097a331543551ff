"""What models are told: one text a file, with `$name` where a value goes."""

from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent


def prompt(name: str, **values: object) -> str:
    """The text of that name with its values; a value that is missing is a KeyError."""
    return _template(name).substitute(values).strip()


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
