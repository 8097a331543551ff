"""How long work tells what it is doing; whoever starts it decides how that looks."""

from typing import Protocol


class Progress(Protocol):
    """Told what happens, and how many bytes of a file are there."""

    def say(self, text: str) -> None:
        """A new stage began, or something worth a line happened."""
        ...

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """`done` bytes of `name` are there, of `total` if that is known."""
        ...


class Silent:
    """A Progress for callers who do not want to know."""

    def say(self, text: str) -> None: ...

    def transfer(self, name: str, done: int, total: int | None) -> None: ...
