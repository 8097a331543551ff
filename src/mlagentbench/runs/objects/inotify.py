"""Which directories have changed since the last check, according to the kernel's inotify.

inotify reports every write, truncation, change of mode and change of names by any process on this
machine. When the end of a process is known, everything that it did is already in the queue. Writes
to memory-mapped files are reported only when they are unmapped, and changes through other hard
links of a file are not reported; callers must check both themselves. To do so they can be told
which files are opened: a process that has not opened a file cannot map it.
"""

import ctypes
import os
import struct
from dataclasses import dataclass, field

_IN_OPEN = 0x20
_IN_MODIFY, _IN_ATTRIB, _IN_CLOSE_WRITE = 0x2, 0x4, 0x8
_IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x40, 0x80, 0x100, 0x200
_IN_Q_OVERFLOW, _IN_IGNORED, _IN_ONLYDIR, _IN_ISDIR = 0x4000, 0x8000, 0x1000000, 0x40000000
_MASK = (
    _IN_MODIFY
    | _IN_ATTRIB
    | _IN_CLOSE_WRITE
    | _IN_MOVED_FROM
    | _IN_MOVED_TO
    | _IN_CREATE
    | _IN_DELETE
    | _IN_ONLYDIR
)
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 20


@dataclass
class Happened:
    """The directories in which something changed, and the names of files that were opened there."""

    changed: set[int] = field(default_factory=set)
    opened: dict[int, set[str]] = field(default_factory=dict)


class WatchImpossible(Exception):
    """The kernel cannot watch directories, or not this many."""


class DirectoryWatch:
    """Watches directories; each has a number. With `opens`, opened files are told, too."""

    def __init__(self) -> None:
        self.opens = False
        self._found = Happened()
        self._known = True
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise WatchImpossible(os.strerror(ctypes.get_errno()))

    def add(self, directory: int) -> int:
        """Watch the directory of this descriptor; WatchImpossible when there are too many."""
        path = f"/proc/self/fd/{directory}".encode()
        mask = _MASK | (_IN_OPEN if self.opens else 0)
        number: int = self._libc.inotify_add_watch(self._queue, path, mask)
        if number < 0:
            raise WatchImpossible(os.strerror(ctypes.get_errno()))
        return number

    def happened(self) -> Happened | None:
        """What happened since the last time; `None` when that is unknown.

        It is unknown when the queue ran over, or when a watched directory was moved or removed, so
        that its number may now stand for another place.
        """
        self._collect()
        found, self._found = self._found, Happened()
        known, self._known = self._known, True
        return found if known else None

    def forget_opens(self, number: int, name: str) -> None:
        """Do not tell that a file in a directory was opened until now."""
        self._collect()
        opened = self._found.opened.get(number, set())
        opened.discard(name)
        if not opened:
            self._found.opened.pop(number, None)

    def _collect(self) -> None:
        """Read the queue."""
        while True:
            try:
                buffer = os.read(self._queue, _BUFFER)
            except BlockingIOError:
                return
            place = 0
            while place < len(buffer):
                number, mask, _cookie, length = _EVENT.unpack_from(buffer, place)
                name = buffer[place + _EVENT.size : place + _EVENT.size + length]
                place += _EVENT.size + length
                if mask & _IN_OPEN:
                    if not mask & _IN_ISDIR:
                        opened = self._found.opened.setdefault(number, set())
                        opened.add(os.fsdecode(name.rstrip(b"\0")))
                    continue
                self._found.changed.add(number)
                if mask & (_IN_Q_OVERFLOW | _IN_IGNORED):
                    self._known = False
                if mask & _IN_ISDIR and mask & (_IN_MOVED_FROM | _IN_MOVED_TO):
                    self._known = False

    def close(self) -> None:
        if self._queue >= 0:
            os.close(self._queue)
            self._queue = -1

    def __del__(self) -> None:
        self.close()
