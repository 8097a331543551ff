"""The sandbox tests once more, as an ordinary user with the system's python3.

Root and an ordinary user get their sandboxes in different ways, so a root that runs the tests runs
these files again under another uid. In a mount namespace of their own they find the sources and
the installed packages where that uid can read them, wherever they lie.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mlagentbench

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
FILES = [
    "redteam/test_escape.py",
    "redteam/test_leftovers.py",
    "redteam/test_machine_code.py",
    "sandbox/bwrap/test_bwrap_sandbox.py",
    "sandbox/executor/test_guardian.py",
    "sandbox/executor/test_limits.py",
    "sandbox/bwrap/visible/test_host_view.py",
    "sandbox/test_inspect_self_check.py",
    "sandbox/test_task_calls.py",
]
SYSTEM_PYTHON = "/usr/bin/python3"
UID = "61000"
PLACE = "/mnt"
"""In the mount namespace of these tests alone."""
MOUNTS = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/tests" "$1/sources" "$1/packages"
mount --bind "$2" "$1/tests"
mount --bind "$3" "$1/sources"
mount --bind "$4" "$1/packages"
mkdir -m 700 "$1/home"
chown "$5:$5" "$1/home"
cd "$1/home"
place="$1" uid="$5"
shift 5
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups env -i \
    HOME="$place/home" PATH=/usr/local/bin:/usr/bin:/bin TMPDIR="$place/home" \
    PYTHONPATH="$place/sources:$place/packages:$place/tests/support" PYTHONDONTWRITEBYTECODE=1 "$@"
"""


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already")
@pytest.mark.skipif(shutil.which(SYSTEM_PYTHON) is None, reason="there is no /usr/bin/python3")
def test_all_of_it_as_an_ordinary_user() -> None:
    ours = "{}.{}".format(*sys.version_info[:2])
    if version_of(SYSTEM_PYTHON) != ours:
        pytest.skip(f"{SYSTEM_PYTHON} is not of version {ours}, for which packages are installed")
    sources = Path(mlagentbench.__file__).parents[1]
    command = [
        "unshare", "--mount", "sh", "-c", MOUNTS, "sh", PLACE, str(TESTS), str(sources),
        sysconfig.get_path("purelib"), UID, SYSTEM_PYTHON, "-m", "pytest", "-q", "-rfs",
        "--tb=short", "-p", "no:cacheprovider", "--rootdir", f"{PLACE}/tests",
        *(f"{PLACE}/tests/{name}" for name in FILES),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
