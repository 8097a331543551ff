"""Inspect's logs: its viewer for raw transcripts, and the viewer's static bundle."""

import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import link, open_regular, parse_json, scratch_directory
from mlagentbench.report.report_data import UnreadableLog

LOOPBACK = "127.0.0.1"
BUNDLE = "logs"
MAX_HEADER = 64_000_000
"""Bytes of a log's header."""
CUT_OFF = "cut off, damaged or still being written: not a complete zip file"


def log_files(out: Path) -> Iterator[Path]:
    """The logs of an --out directory; `inspect eval` writes them to OUT itself."""
    for folder in (out, out / "logs"):
        yield from sorted(folder.glob("*.eval"))


def unreadable_logs(out: Path) -> Iterator[UnreadableLog]:
    """Logs that cannot be opened; checks only the end of each file, which is fast."""
    for log in log_files(out):
        try:
            with open_regular(log) as file:
                reason = "" if zipfile.is_zipfile(file) else CUT_OFF
        except (UsageError, OSError) as error:
            reason = str(error)
        if reason:
            yield UnreadableLog(path=str(log), reason=reason)


def bundle_logs(outs: Sequence[Path], to: Path) -> str | None:
    """Write Inspect's static viewer of all readable logs below `to`; returns its path there."""
    from inspect_ai.log import bundle_log_dir

    with scratch_directory("logs") as gathered:
        for out in outs:
            for log in log_files(out):
                target = gathered / log.name
                if _has_header(log) and not target.exists() and not link(log, target):
                    shutil.copyfile(log, target)
        if not any(gathered.iterdir()):
            return None
        # Inspect prints what it copies, which is not useful here.
        with redirect_stdout(StringIO()):
            bundle_log_dir(str(gathered), str(to / BUNDLE), overwrite=True)
    return f"{BUNDLE}/index.html"


def _has_header(log: Path) -> bool:
    try:
        with open_regular(log) as file, zipfile.ZipFile(file) as archive:
            if archive.getinfo("header.json").file_size > MAX_HEADER:
                return False
            parse_json(archive.read("header.json"))
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, UsageError):
        return False
    except RuntimeError:  # it is encrypted, or compressed by an unknown method
        return False
    return True


def view_logs(directory: Path, port: int) -> int:
    """Start Inspect's viewer on the logs of an --out directory; returns when it is stopped."""
    logs = _logs_of(directory)
    viewer = [sys.executable, "-m", "inspect_ai", "view", "--log-dir", str(logs)]
    return subprocess.run([*viewer, "--host", LOOPBACK, "--port", str(port)]).returncode


def _logs_of(directory: Path) -> Path:
    for logs in (directory / "logs", directory):
        if logs.is_dir() and any(logs.glob("*.eval")):
            return logs
    raise UsageError(
        f"{directory}: contains no Inspect logs; name the --out directory of a `mlagentbench run`"
    )
