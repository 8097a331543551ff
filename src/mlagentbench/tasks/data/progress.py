"""How downloads and preparation report their progress, and how it looks on a terminal."""

from typing import Protocol, Self

from rich import progress as rich_progress

from mlagentbench.terminal import Terminal


class Progress(Protocol):
    """Receives the stages of long work, and the bytes of its transfers."""

    def say(self, text: str) -> None:
        """Report a new stage, or an event worth a line."""
        ...

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """Report that `done` bytes of `name` have arrived, of `total` if that is known."""
        ...


class Silent:
    """A Progress that reports nothing."""

    def say(self, text: str) -> None: ...

    def transfer(self, name: str, done: int, total: int | None) -> None: ...


class TerminalProgress:
    """Prints lines, and on a terminal also bars with bytes, speed and remaining time.

    Elsewhere it prints one line for each finished file.
    """

    def __init__(self, console: Terminal) -> None:
        self._console = console
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.DownloadColumn(),
            rich_progress.TransferSpeedColumn(),
            rich_progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._known: dict[str, rich_progress.TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._known:
            self._bars.stop()

    def say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        if not self._console.is_terminal:
            if done == total:
                self.say(f"  {name}: {done / 1e6:,.1f} MB")
            return
        if name not in self._known:
            self._bars.start()
            self._known[name] = self._bars.add_task(name, total=total)
        self._bars.update(self._known[name], completed=done, total=total)
