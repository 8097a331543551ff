"""The connection to the guardian: one per process, started with the first sandbox."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import RunFailed
from mlagentbench.fs import SCRATCH
from mlagentbench.guest import GUEST
from mlagentbench.guest.guardian import receive_descriptors
from mlagentbench.sandbox.base import Identity

_PROGRAM = GUEST / "guardian.py"


class Started(NamedTuple):
    """A bubblewrap process that the guardian has started; `handle` is its pidfd."""

    pid: int
    handle: int


class Guardian:
    """A connection to the guardian; usable from any thread."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        scratch = f"{tempfile.gettempdir()}/{SCRATCH}{self.owner}-"
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), str(self.owner), scratch],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={},
        )
        theirs.close()

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def start(
        self, command: Sequence[str], descriptors: Sequence[int], cores: Sequence[int] = ()
    ) -> Started:
        """Start a command with these descriptors as its 0, 1, 2, ... and nothing else.

        It runs on these cores; without any, on those of this process.
        """
        wanted = sorted(cores or os.sched_getaffinity(0))
        with self._lock:
            try:
                message = json.dumps({"command": list(command), "cores": wanted}).encode()
                socket.send_fds(self._socket, [message], list(descriptors))
                reply, handles = receive_descriptors(self._socket, 65536, 1)
            except OSError as error:
                raise RunFailed("sandbox", f"the guardian process is gone: {error}") from error
        if not reply:
            raise RunFailed("sandbox", "the guardian process is gone")
        answer = json.loads(reply)
        if "error" in answer:
            raise RunFailed("sandbox", f"cannot start {command[0]}: {answer['error']}")
        return Started(answer["pid"], handles[0])


_guardian: Guardian | None = None
_guardian_lock = threading.Lock()


def guardian() -> Guardian:
    """This process's guardian."""
    global _guardian
    with _guardian_lock:
        if _guardian is None or not _guardian.alive:
            _guardian = Guardian()
        return _guardian


def identify(pid: int) -> Identity | None:
    """The identity of a living process; None if no process has that pid."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None if fields[0] == b"Z" else Identity(pid=pid, started=int(fields[19]), boot=boot)


def kill_if_alive(identity: Identity, timeout: float = 10.0) -> bool:
    """Kill exactly that sandbox, if it is alive, and wait until it is gone."""
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if identify(identity.pid) != identity:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)
    deadline = time.monotonic() + timeout
    while identify(identity.pid) == identity:
        if time.monotonic() > deadline:
            raise RunFailed("sandbox", f"process {identity.pid} does not die")
        time.sleep(0.005)
    return True
