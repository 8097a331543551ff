"""The guardian: a process beside the harness that starts all sandboxes and cleans up after it.

It runs as `python -I -S guardian.py PID SCRATCH` (standard library only) and talks to the harness
over the socket on descriptor 0. When the harness is gone, for whatever reason, the guardian kills
all its descendants, removes all directories whose path begins with SCRATCH, and ends. bubblewrap's
--die-with-parent is not enough: it leaves a sandbox behind when the harness is killed while the
sandbox starts.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys

PR_SET_CHILD_SUBREAPER = 36
FIRST_FREE_DESCRIPTOR = 200
MAX_MESSAGE = 65536


def main() -> None:
    """Serve the harness until it is gone, then clean up."""
    harness = socket.socket(fileno=os.dup(0))
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started: set[int] = set()
    try:
        serve(harness, int(sys.argv[1]), started)
    finally:
        kill_everything()
        remove_all(sys.argv[2])


def serve(harness: socket.socket, harness_pid: int, started: set[int]) -> None:
    """Start sandboxes and reap ended processes until the harness is gone."""
    alive = os.pidfd_open(harness_pid)
    if os.getppid() != harness_pid:
        return
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    poll = select.poll()
    for source in (harness.fileno(), alive, woken):
        poll.register(source, select.POLLIN)
    while True:
        ready = {source for source, _event in poll.poll()}
        if alive in ready:
            return
        if woken in ready:
            os.read(woken, 4096)
            reap(started)
        if harness.fileno() in ready and not answer(harness, started):
            return


def answer(harness: socket.socket, started: set[int]) -> bool:
    """Start one bubblewrap; False when the harness has closed its end."""
    message, descriptors = receive_descriptors(harness, MAX_MESSAGE, 32)
    if not message:
        return False
    try:
        request = json.loads(message)
        # Children inherit it. A command can neither widen nor change it: its sandbox refuses that.
        os.sched_setaffinity(0, request["cores"])
        pid = spawn(request["command"], descriptors)
    except OSError as error:
        harness.sendall(json.dumps({"error": str(error)}).encode())
        return True
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    started.add(pid)
    handle = os.pidfd_open(pid)
    socket.send_fds(harness, [json.dumps({"pid": pid}).encode()], [handle])
    os.close(handle)
    return True


def receive_descriptors(
    source: socket.socket, max_bytes: int, max_descriptors: int
) -> tuple[bytes, list[int]]:
    """A message and its descriptors, which no command inherits."""
    message, descriptors, _flags, _address = socket.recv_fds(source, max_bytes, max_descriptors)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return message, descriptors


def spawn(command: list[str], descriptors: list[int]) -> int:
    """Start a command with these descriptors as 0, 1, 2, ... and an empty environment."""
    lifted = [
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR)
        for descriptor in descriptors
    ]
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(lifted)]
    try:
        return os.posix_spawn(
            command[0],
            command,
            {},
            file_actions=actions,
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )
    finally:
        for descriptor in lifted:
            os.close(descriptor)


def reap(started: set[int]) -> None:
    """Collect ended children, and kill the orphans of a sandbox that died while starting."""
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            break
        started.discard(pid)
    for orphan in set(children_of(os.getpid())) - started:
        kill(orphan)


def kill_everything() -> None:
    """Kill and collect all descendants, also those that appear meanwhile."""
    while True:
        for child in children_of(os.getpid()):
            kill(child)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def remove_all(beginning: str) -> None:
    """Remove all directories with such paths, even parts that are closed to their owner."""
    parent, beginning = os.path.split(beginning)
    names = [name for name in os.listdir(parent) if name.startswith(beginning)]  # noqa: PTH208
    paths = [f"{parent}/{name}" for name in names]
    for tool in ("chmod -R u+rwx --", "rm -rf --") if paths else ():
        command = [*tool.split(), *paths]
        os.waitpid(os.posix_spawnp(command[0], command, {"PATH": os.defpath}), 0)


def children_of(parent: int) -> list[int]:
    """The living direct children, found in /proc because orphans are listed nowhere else."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as handle:  # noqa: PTH123
                fields = handle.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != b"Z":
            found.append(int(name))
    return found


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main()
