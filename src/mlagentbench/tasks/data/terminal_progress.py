"""How the progress of downloads and preparation looks on a terminal."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


class TerminalProgress:
    """Lines of what is done; on a terminal also bars with bytes, speed and remaining time.

    Elsewhere a finished file is one line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
            TransferSpeedColumn(), TimeRemainingColumn(), console=console, transient=True,
        )  # fmt: skip
        self._known: dict[str, TaskID] = {}

    def __enter__(self) -> "TerminalProgress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._known:
            self._bars.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        if not self._console.is_terminal:
            if done == total:
                self.say(f"  {name}: {done / 1e6:,.1f} MB")
            return
        if name not in self._known:
            self._bars.start()
            self._known[name] = self._bars.add_task(name, total=total)
        self._bars.update(self._known[name], completed=done, total=total)
