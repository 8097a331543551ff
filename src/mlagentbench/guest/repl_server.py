"""The Python REPL in the sandbox; standard library only.

    serve ADDRESS                     keeps the state; one per sandbox
    wait ADDRESS                      returns when the server takes code
    ask ADDRESS SECONDS MAX_BYTES     sends the code on stdin, prints what it prints

Code runs in the server's main thread, with stdout and stderr on the asker's connection, also those
of children. The asker's exit code says how the code ended. When it exceeds its time or output, the
asker interrupts it like Ctrl-C, which keeps the state, and gives up after a while.
"""

import ast
import contextlib
import linecache
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types

OK, RAISED, ENDED, TIME, OUTPUT, STUCK = 0, 1, 3, 4, 5, 6
CONNECT_SECONDS = 30.0
GRACE_SECONDS = 5.0
CHUNK = 1 << 16
INTERRUPT = b"interrupt"
RUN = b"run"


def serve(address: str) -> None:
    """Run the code of askers, one piece after the other, in one namespace."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    # Only now, so that files of the workspace do not shadow modules of this program.
    sys.path.insert(0, "")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    asked: queue.Queue[tuple[socket.socket, str]] = queue.Queue()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=listen, args=(listener, asked), daemon=True).start()
    while True:
        connection, code = asked.get()
        answer(connection, code, main.__dict__)


def listen(listener: socket.socket, asked: "queue.Queue[tuple[socket.socket, str]]") -> None:
    while True:
        connection, _ = listener.accept()
        kind, _, code = receive_all(connection).partition(b"\n")
        if kind == INTERRUPT:
            os.kill(os.getpid(), signal.SIGINT)
            connection.close()
        elif kind == RUN:
            asked.put((connection, code.decode("utf-8", "replace")))


def answer(connection: socket.socket, code: str, namespace: dict[str, object]) -> None:
    """Run one piece of code; the last byte sent says whether it raised."""
    saved = [os.dup(1), os.dup(2)]
    for standard in (1, 2):
        os.dup2(connection.fileno(), standard)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = run(code, namespace)
    except KeyboardInterrupt:
        status = RAISED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for standard, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, standard)
            os.close(copy)
    with contextlib.suppress(OSError):
        connection.sendall(bytes([status]))
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def run(code: str, namespace: dict[str, object]) -> int:
    """Execute code as at a prompt: the value of a last expression is printed."""
    name = f"<repl {len(linecache.cache)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            if value is not None:
                namespace["_"] = value
                sys.stdout.write(f"{value!r}\n")
    except SystemExit as error:
        sys.stdout.write(f"SystemExit: {error.code} (the session goes on)\n")
        return RAISED
    except BaseException as error:  # noqa: BLE001
        own = error.__traceback__.tb_next if error.__traceback__ else None
        sys.stdout.flush()
        traceback.print_exception(type(error), error, own)
        return RAISED
    return OK


def ask(address: str, seconds: float, max_bytes: int) -> int:
    """Send the code and print its output; returns the exit code."""
    connection = connect(address)
    if connection is None:
        return ENDED
    connection.sendall(RUN + b"\n" + sys.stdin.buffer.read())
    connection.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + seconds
    broken = 0
    shown = 0
    held = b""
    while True:
        if select.select([connection], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = receive(connection)
            if not chunk:
                break
            held, chunk = chunk[-1:], held + chunk[:-1]
            sys.stdout.buffer.write(chunk[: max(0, max_bytes - shown)])
            sys.stdout.buffer.flush()
            shown += len(chunk)
        if time.monotonic() >= deadline:
            if broken:
                return STUCK
            broken = TIME
        elif shown > max_bytes and not broken:
            broken = OUTPUT
        else:
            continue
        deadline = time.monotonic() + GRACE_SECONDS
        interrupt(address)
    return broken or (held[0] if held in (bytes([OK]), bytes([RAISED])) else ENDED)


def wait(address: str) -> int:
    """Wait for the server to start; returns the exit code."""
    connection = connect(address)
    if connection is None:
        return ENDED
    connection.close()
    return OK


def connect(address: str) -> socket.socket | None:
    """A connection to the server, which may still be starting."""
    until = time.monotonic() + CONNECT_SECONDS
    while time.monotonic() < until:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(address)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.005)
    return None


def interrupt(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.connect(address)
        connection.sendall(INTERRUPT)


def receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(CHUNK)
    except ConnectionResetError:
        return b""


def receive_all(connection: socket.socket) -> bytes:
    parts = []
    while part := receive(connection):
        parts.append(part)
    return b"".join(parts)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    elif sys.argv[1] == "wait":
        sys.exit(wait(sys.argv[2]))
    else:
        sys.exit(ask(sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
