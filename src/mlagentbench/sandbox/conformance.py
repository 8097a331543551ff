"""Check whether a sandbox fulfils the contract of `Sandbox`."""

import secrets
import time
from collections.abc import Awaitable, Callable

from mlagentbench.errors import RunFailed
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Sandbox

Check = Callable[[Sandbox], Awaitable[None]]

_MEGABYTE = 1_000_000
_REACHES_OUT = """
import socket
for address in (("1.1.1.1", 53), ("8.8.8.8", 443)):
    try:
        socket.create_connection(address, timeout=2)
    except OSError:
        continue
    raise SystemExit(f"connected to {address}")
"""
_OUTSIDE = "/tmp /var/tmp /dev/shm $HOME"


class ConformanceResult(Record):
    """One requirement of the contract, and how it was violated."""

    name: str
    ok: bool
    problem: str = ""


async def check_sandbox(sandbox: Sandbox) -> list[ConformanceResult]:
    """Check every requirement on a running sandbox, which needs sh, cat, sleep and python3."""
    return [await _try(check, sandbox) for check in CHECKS]


async def _try(check: Check, sandbox: Sandbox) -> ConformanceResult:
    name = (check.__doc__ or check.__name__).strip().rstrip(".")
    try:
        await check(sandbox)
    except (AssertionError, OSError, RunFailed, ValueError) as error:
        return ConformanceResult(name=name, ok=False, problem=f"{type(error).__name__}: {error}")
    return ConformanceResult(name=name, ok=True)


def _same(got: object, wanted: object) -> None:
    if got != wanted:
        raise AssertionError(f"got {str(got)[:300]!r}, expected {str(wanted)[:300]!r}")


async def _output_comes_back(sandbox: Sandbox) -> None:
    """stdout and stderr are returned, separately and interleaved"""
    result = await sandbox.run(["sh", "-c", "echo out; echo err >&2"])
    _same((result.exit_code, result.stdout, result.stderr), (0, b"out\n", b"err\n"))
    _same(sorted(result.output.split()), ["err", "out"])


async def _output_is_streamed(sandbox: Sandbox) -> None:
    """on_output receives all output"""
    parts: list[bytes] = []
    await sandbox.run(["sh", "-c", "echo one; echo two"], on_output=parts.append)
    _same(b"".join(parts), b"one\ntwo\n")


async def _exit_codes(sandbox: Sandbox) -> None:
    """exit codes are like those of a shell"""
    for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)):
        _same((await sandbox.run(["sh", "-c", script])).exit_code, code)


async def _unknown_command(sandbox: Sandbox) -> None:
    """an unknown command is a result, not an exception"""
    _same((await sandbox.run(["no-such-command"])).exit_code, 127)


async def _stdin(sandbox: Sandbox) -> None:
    """stdin arrives completely, with any bytes and size; the default is empty"""
    for contents in (b"", b"$HOME `id` \\ '\"\n", bytes(range(256)) * 8000):
        result = await sandbox.run(["sh", "-c", "cat > stdin.bin"], stdin=contents)
        _same(result.exit_code, 0)
        _same(await sandbox.read("stdin.bin") == contents, True)


async def _environment(sandbox: Sandbox) -> None:
    """environment variables are set as requested"""
    result = await sandbox.run(["sh", "-c", 'printf %s "$ASKED"'], env={"ASKED": "a b\n'c'"})
    _same(result.stdout, b"a b\n'c'")


async def _working_directory(sandbox: Sandbox) -> None:
    """commands start in the workspace or in cwd"""
    await sandbox.write("place/file.txt", b"here")
    _same((await sandbox.run(["cat", "place/file.txt"])).stdout, b"here")
    _same((await sandbox.run(["cat", "file.txt"], cwd="place")).stdout, b"here")


async def _files(sandbox: Sandbox) -> None:
    """files with any name and contents are written and read back, with their parents created"""
    for path in ("new/parents/a file.bin", "häßlich ✨.txt", "/tmp/conformance/file"):
        for contents in (bytes(range(256)), b"", b"x" * (3 * _MEGABYTE)):
            await sandbox.write(path, contents)
            _same(await sandbox.read(path) == contents, True)


async def _file_errors(sandbox: Sandbox) -> None:
    """reading and writing raise the errors of the file system"""
    await sandbox.write("folder/file", b"")
    await _raises(FileNotFoundError, sandbox.read("no/such/file"))
    await _raises(IsADirectoryError, sandbox.read("folder"))
    await _raises(IsADirectoryError, sandbox.write("folder", b""))


async def _raises(kind: type[OSError], call: Awaitable[object]) -> None:
    try:
        await call
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


async def _unicode(sandbox: Sandbox) -> None:
    """output is UTF-8, and invalid bytes are replaced"""
    result = await sandbox.run(["printf", "中文 😀 \\377 end"])
    _same(result.output, "中文 😀 \N{REPLACEMENT CHARACTER} end")


async def _big_output(sandbox: Sandbox) -> None:
    """output of several megabytes arrives completely"""
    result = await sandbox.run(["sh", "-c", f"head -c {5 * _MEGABYTE} /dev/zero"])
    _same(len(result.stdout), 5 * _MEGABYTE)


async def _timeout(sandbox: Sandbox) -> None:
    """a command that exceeds its time is killed with everything it started, and reported"""
    marker = f"conformance-{secrets.token_hex(8)}"
    begun = time.monotonic()
    script = f"sh -c 'sleep 60; : {marker}' & sleep 60; : {marker}"
    result = await sandbox.run(["sh", "-c", script], timeout=1)
    _same(result.limit and result.limit.name, "wall time")
    if time.monotonic() - begun > 30:
        raise AssertionError("ended far too late")
    await _gone(sandbox, marker)


async def _nothing_stays(sandbox: Sandbox) -> None:
    """no process that a command started outlives it, not even a daemon"""
    marker = f"conformance-{secrets.token_hex(8)}"
    daemon = f"setsid sh -c 'sleep 60; : {marker}' </dev/null >/dev/null 2>&1 &"
    _same((await sandbox.run(["sh", "-c", f"({daemon}) ; exit 0"])).exit_code, 0)
    await _gone(sandbox, marker)


async def _no_files_stay(sandbox: Sandbox) -> None:
    """files that a command leaves outside of the workspace are removed, those in it are kept"""
    marker = f"conformance-{secrets.token_hex(8)}"
    made, found, _removed = [
        await sandbox.run(
            ["sh", "-c", f"for place in . {_OUTSIDE}; do {each} $place/{marker}; done"]
        )
        for each in ("mkdir", "ls -d", "rm -rf")
    ]
    _same((made.output, found.stdout), ("", f"./{marker}\n".encode()))


async def _gone(sandbox: Sandbox, marker: str) -> None:
    script = f"""
import pathlib
for place in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
    try:
        text = place.read_bytes()
    except OSError:
        continue
    if {marker!r}.encode() in text and b'import pathlib' not in text:
        print(text)
"""
    _same((await sandbox.run(["python3", "-c", script])).output, "")


async def _no_network(sandbox: Sandbox) -> None:
    """there is no network"""
    result = await sandbox.run(["python3", "-c", _REACHES_OUT], timeout=30)
    _same((result.exit_code, result.output), (0, ""))


async def _unprivileged(sandbox: Sandbox) -> None:
    """commands are not root and cannot write outside of the workspace and tmp"""
    _same((await sandbox.run(["id", "-u"])).stdout.strip() == b"0", False)
    for place in ("/conformance", "/usr/conformance", "/etc/conformance"):
        await _raises(OSError, sandbox.write(place, b""))


CHECKS: tuple[Check, ...] = (
    _output_comes_back,
    _output_is_streamed,
    _exit_codes,
    _unknown_command,
    _stdin,
    _environment,
    _working_directory,
    _files,
    _file_errors,
    _unicode,
    _big_output,
    _timeout,
    _nothing_stays,
    _no_files_stay,
    _no_network,
    _unprivileged,
)
