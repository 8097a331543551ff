"""The executor runs commands in the sandbox (`python -I -S`, standard library only).

Its first argument is the descriptor of the control socket, whose other end the harness has, or the
path of the socket to connect to; then come the hard limits and the writable places besides the
workspace. Each message on the socket carries the descriptors of one request: a socket for this
request, then the command's stdin, stdout and stderr. A supervisor that was forked in advance serves
it, so requests are independent, and closing the request's socket ends it. A request and its answers
are frames: four bytes of length, then the payload.

Commands share the executor's uid. They can kill it (the harness then starts a new sandbox), stop it
and change what its children inherit (detected when the command has ended). Since the executor is
not dumpable, they can neither read nor write its memory and descriptors, so they cannot forge an
answer. Each answer repeats the nonce of its request.
"""

import contextlib
import ctypes
import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time
from typing import Any

LENGTH = struct.Struct(">I")
CHUNK = 1 << 20
BACKLOG = 64
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
RESTORED_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
ENDED = b"e"
RESOURCES = sorted({getattr(resource, name) for name in dir(resource) if name[:7] == "RLIMIT_"})
OPEN_TO_ALL = 0o1777
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Request = dict[str, Any]
prctl = ctypes.CDLL(None).prctl


def main() -> None:
    """Serve requests until the harness closes its end."""
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    control = control_socket(sys.argv[1])
    control.set_inheritable(False)
    for output in (1, 2):
        os.dup2(0, output)
    set_hard_limits(json.loads(sys.argv[2]))
    os.umask(0o022)
    gc.disable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    around = Surroundings(sys.argv[3:])
    spare = fork_spare(control, around)
    control.sendall(b"ready")
    while os.read(spare, 1) != ENDED and inherited_from(0) == around.inherited:
        os.close(spare)
        spare = fork_spare(control, around)


def control_socket(place: str) -> socket.socket:
    """The socket with that descriptor, or one connected to that path."""
    if place.isdigit():
        return socket.socket(fileno=int(place))
    control = socket.socket(socket.AF_UNIX)
    control.connect(place)
    return control


def fork_spare(control: socket.socket, around: "Surroundings") -> int:
    """Fork the supervisor of the next request in advance, because a fork is slow.

    Returns a pipe that is closed when the next supervisor is needed; a byte in it says that none
    is.
    """
    wanted, around.next = os.pipe2(os.O_CLOEXEC)
    if os.fork() != 0:
        os.close(around.next)
        return wanted
    os.close(wanted)
    around.touch()
    select.select([control], [], [])
    if inherited_from(0) != around.inherited:
        os._exit(1)
    message, descriptors = receive_descriptors(control, 1, 4)
    control.close()
    if message:
        serve(descriptors, around)
    else:
        os.write(around.next, ENDED)
    os._exit(0)


def receive_descriptors(
    source: socket.socket, max_bytes: int, max_descriptors: int
) -> tuple[bytes, list[int]]:
    """A message and its descriptors, which no command inherits."""
    message, descriptors, _flags, _address = socket.recv_fds(source, max_bytes, max_descriptors)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return message, descriptors


def set_hard_limits(limits: dict[str, int]) -> None:
    """Set the limits that the kernel enforces on every process in the sandbox."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (wanted, wanted))


def serve(descriptors: list[int], around: "Surroundings") -> None:
    """Serve one request on its socket; the next supervisor is forked when this one can spare it."""
    connection = socket.socket(fileno=descriptors[0])
    request = json.loads(receive(connection))
    try:
        if request["kind"] == "run":
            run(connection, request, descriptors[1:], around)
        else:
            os.close(around.next)
            kinds = {"read": read_file, "write": write_file, "listen": listen}
            kinds[request["kind"]](connection, request)
    except BrokenPipeError:
        return


def answer(connection: socket.socket, request: Request, **fields: Any) -> None:
    send(connection, json.dumps({"nonce": request["nonce"], **fields}).encode())


def send(connection: socket.socket, payload: bytes) -> None:
    connection.sendall(LENGTH.pack(len(payload)) + payload)


def receive(connection: socket.socket) -> bytes:
    (length,) = LENGTH.unpack(receive_exactly(connection, LENGTH.size))
    return receive_exactly(connection, length)


def receive_exactly(connection: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        chunk = connection.recv(min(CHUNK, length - len(received)))
        if not chunk:
            os._exit(1)
        received += chunk
    return bytes(received)


# Commands


def run(
    connection: socket.socket, request: Request, stdio: list[int], around: "Surroundings"
) -> None:
    """Run a command until it or the harness ends it; then kill everything it started."""
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    known = around.files() if request["tidy"] else None
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    try:
        command = start(request, stdio)
    except OSError as error:
        os.write(stdio[-1], f"{error.filename}: {error.strerror}\n".encode())
        code = 126 if error.errno == errno.EACCES else 127
        answer(connection, request, exit_code=code, start_error=error.errno)
        return
    for descriptor in (around.next, *stdio):
        os.close(descriptor)
    status = wait_for(command, connection, woken)
    if status is None or not request["keep"]:
        kill_descendants()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    filled = around.full() if status else False
    answer(
        connection,
        request,
        clean=around.restored(known),
        filled=filled,
        exit_code=None if status is None else shell_exit_code(status),
        cpu_seconds=used.ru_utime + used.ru_stime,
    )


def start(request: Request, stdio: list[int]) -> int:
    """Start the command in a new session; without a fork, which would copy much memory."""
    os.chdir(request["cwd"])
    os.environ["PATH"] = request["env"].get("PATH", os.defpath)
    places = (0, 1, 2)[-len(stdio) :]
    return os.posix_spawnp(
        request["command"][0],
        request["command"],
        request["env"],
        file_actions=[
            (os.POSIX_SPAWN_DUP2, descriptor, place)
            for descriptor, place in zip(stdio, places, strict=True)
        ],
        setsid=True,
        setsigdef=RESTORED_SIGNALS,
    )


def wait_for(command: int, connection: socket.socket, woken: int) -> int | None:
    """The command's exit status, or None when the harness ends it."""
    while True:
        ready, _writable, _broken = select.select([connection.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        status = reap(command)
        if status is not None:
            return status
        if connection.fileno() in ready:
            return None


def reap(command: int) -> int | None:
    """Collect all ended children; returns the command's status if it is among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == command:
            status = ended


def shell_exit_code(status: int) -> int:
    """The exit code as a shell gives it: 128 plus the signal for a killed command."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def kill_descendants() -> None:
    """Kill all descendants; as this process is a subreaper, no daemon escapes."""
    while not childless():
        living = descendants_of(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        time.sleep(0.0005)


def childless() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return True
    return False


def descendants_of(ancestor: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as handle:
                    parent = int(handle.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(ancestor, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


# What commands can leave behind besides processes


class Surroundings:
    """The state in which commands start, and which is restored after each of them."""

    def __init__(self, places: list[str]) -> None:
        self.places = places
        self.executor = os.getpid()
        self.inherited = inherited_from(0)
        self.next = -1  # closed when the next supervisor should be forked

    def touch(self) -> None:
        """Touch the memory that serving needs: after a fork, the first access copies it."""
        json.loads(json.dumps({"env": [entries(place) for place in self.places]}))
        inherited_from(0)

    def files(self) -> set[str]:
        """The paths of all files and directories in the writable places."""
        found: set[str] = set()
        pending = list(self.places)
        while pending:
            for path, is_directory in entries(pending.pop()):
                found.add(path)
                if is_directory:
                    pending.append(path)
        return found

    def full(self) -> bool:
        return any(os.statvfs(place).f_bfree == 0 for place in self.places)

    def restored(self, known: set[str] | None) -> bool:
        """Remove new files; returns whether the state is as before.

        What processes inherit cannot always be reset.
        """
        try:
            os.kill(0, signal.SIGCONT)  # the executor's processes are one group
            if known is not None:
                self.tidy(known)
            return inherited_from(self.executor) == self.inherited
        except OSError:
            return False

    def tidy(self, known: set[str]) -> None:
        for place in self.places:
            if stat.S_IMODE(os.stat(place).st_mode) != OPEN_TO_ALL:
                os.chmod(place, OPEN_TO_ALL)
            for attribute in os.listxattr(place):
                os.removexattr(place, attribute)
        pending = list(self.places)
        while pending:
            parent = pending.pop()
            for path, is_directory in entries(parent):
                if path not in known:
                    remove(parent, os.path.basename(path))
                elif is_directory:
                    pending.append(path)


def inherited_from(pid: int) -> tuple[object, ...]:
    """What children inherit from a process and other processes of its user can change."""
    return (
        [resource.prlimit(pid, which) for which in RESOURCES],
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getscheduler(pid),
        os.sched_getaffinity(pid),
    )


def entries(directory: str) -> list[tuple[str, bool]]:
    """The paths in a directory, and whether each is a directory on the same file system."""
    try:
        here = os.stat(directory).st_dev
        with os.scandir(directory) as items:
            return [(item.path, is_directory(item, here)) for item in items]
    except OSError:
        return []


def is_directory(item: "os.DirEntry[str]", device: int) -> bool:
    return item.is_dir(follow_symlinks=False) and os.lstat(item.path).st_dev == device


def remove(place: str, name: str) -> None:
    """Remove a file or a directory of any depth; it may vanish meanwhile."""
    top = os.open(place, OPEN_DIRECTORY)
    names = [name]
    while names:
        name = names.pop()
        with contextlib.suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=top)
            except IsADirectoryError:
                names += emptied(name, top)
                os.rmdir(name, dir_fd=top)
    os.close(top)


def emptied(name: str, top: int) -> list[str]:
    """Remove the files in a directory and move its directories up; returns their new names."""
    os.chmod(name, 0o700, dir_fd=top)
    directory = os.open(name, OPEN_DIRECTORY, dir_fd=top)
    moved = []
    for child in os.listdir(directory):
        try:
            os.unlink(child, dir_fd=directory)
        except IsADirectoryError:
            os.chmod(child, 0o700, dir_fd=directory)
            moved.append(os.urandom(8).hex())
            os.rename(child, moved[-1], src_dir_fd=directory, dst_dir_fd=top)
    os.close(directory)
    return moved


# Services


def listen(connection: socket.socket, request: Request) -> None:
    """Listen on a port of the sandbox's loopback and pass the socket to the harness."""
    server = socket.socket()
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", request["port"]))
        server.listen(BACKLOG)
    except OSError as error:
        answer(connection, request, errno=error.errno)
        return
    answer(connection, request, errno=0)
    socket.send_fds(connection, [b"s"], [server.fileno()])


# Files


def read_file(connection: socket.socket, request: Request) -> None:
    """Answer, then send the contents in frames; an empty frame ends them."""
    try:
        descriptor = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if stat.S_ISFIFO(status.st_mode):
            raise OSError(errno.ESPIPE, os.strerror(errno.ESPIPE))
        if status.st_size > request["max_bytes"]:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    except OSError as error:
        answer(connection, request, errno=error.errno)
        return
    answer(connection, request, errno=0)
    left = request["max_bytes"] + 1
    while left > 0:
        chunk = os.read(descriptor, min(CHUNK, left))
        send(connection, chunk)
        if not chunk:
            return
        left -= len(chunk)


def write_file(connection: socket.socket, request: Request) -> None:
    """Receive the contents, then write them with the sandbox's permissions."""
    contents = memoryview(receive_exactly(connection, request["size"]))
    path = request["path"]
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o644)
        while contents:
            contents = contents[os.write(descriptor, contents) :]
    except OSError as error:
        answer(connection, request, errno=error.errno)
        return
    answer(connection, request, errno=0)


if __name__ == "__main__":
    main()
