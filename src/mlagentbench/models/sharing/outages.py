"""A provider that does not answer: all workers of a plan wait, and one of them tries at a time.

The worker that notices the outage creates `down.json`; while it is there, no worker calls the
provider. The holder of the folder's lease tries, with a call that has to be made anyway, after
pauses that grow. When the provider answers, the file is removed, and all continue. The lease passes
on when its holder dies.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.fs import create_exclusively, read_regular, write_atomically
from mlagentbench.models.sharing.plan_limits import SharingTimes, file_name
from mlagentbench.records import Record
from mlagentbench.runs.lease import Lease, LeaseWatch, RunHeld, take_lease

FOLDER = "outages"
FILE = "down.json"
MAX_STATE = 10_000


class OutageState(Record):
    """What is known of an outage."""

    since: float
    """When it was noticed; a time of day."""
    said: str
    """The last error."""
    tries: int = 0
    """The attempts since it was noticed."""

    @property
    def began(self) -> str:
        """When it began, for people: the time, with the day if it is not today."""
        now, then = time.localtime(), time.localtime(self.since)
        is_today = now[:3] == then[:3]
        return time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", then)


class Outage:
    """Whether one provider is down, as the workers of a plan see it."""

    def __init__(self, directory: Path, provider: str, times: SharingTimes) -> None:
        self._folder = directory / FOLDER / file_name(provider)
        self._file = self._folder / FILE
        self._times = times
        self._watch = LeaseWatch()

    def current(self) -> OutageState | None:
        """The outage, if there is one."""
        return _read(self._file)

    def begin(self, said: str) -> OutageState:
        """Tell all workers to wait; the outage that another has noticed before stays."""
        noticed = OutageState(since=time.time(), said=said)
        create_exclusively(self._file, noticed.model_dump_json().encode())
        return self.current() or noticed

    def note_failed_try(self, said: str) -> None:
        """Count an attempt of the holder of the lease."""
        if (state := self.current()) is not None:
            self.note(state.model_copy(update={"said": said, "tries": state.tries + 1}))

    def note(self, state: OutageState) -> None:
        """Write what is known of the outage, for all workers."""
        write_atomically(self._file, state.model_dump_json().encode())

    def end(self) -> None:
        """Let all workers continue."""
        self._file.unlink(missing_ok=True)

    def take_turn(self) -> Lease | None:
        """Become the one that tries; None while another is."""
        try:
            return take_lease(self._folder, watch=self._watch)
        except RunHeld:
            return None

    def pause(self, state: OutageState) -> float:
        """Seconds to wait before the next attempt."""
        doubled: float = self._times.outage_pause * 2 ** min(state.tries, 20)
        return min(doubled, self._times.outage_longest_pause)


def outages_of(directory: Path) -> Iterator[str]:
    """The outages that workers of a plan have noticed."""
    for file in sorted((directory / FOLDER).glob(f"*/{FILE}")):
        if (state := _read(file)) is not None:
            yield f"{file.parent.name} does not answer since {state.began} ({state.said})"


def _read(file: Path) -> OutageState | None:
    try:
        return OutageState.model_validate_json(read_regular(file, MAX_STATE))
    except FileNotFoundError:
        return None
    except ValidationError:  # a damaged file: still somebody has seen an outage
        return OutageState(since=file.stat().st_mtime, said="unknown")


def forget_outages(directory: Path) -> None:
    """Have every provider of a plan tried again at once."""
    for file in (directory / FOLDER).glob(f"*/{FILE}"):
        file.unlink(missing_ok=True)
