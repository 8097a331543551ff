"""What is visible in a sandbox, as arguments of bubblewrap.

An ordinary user gets a user namespace. For root that would not be safe: uid 1000 in the sandbox
would be host root for every permission check. So for root the mounts are made without one, the
process drops to an unprivileged uid of its own, and a second, nested call closes user namespaces.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mlagentbench.sandbox.base import WORKSPACE, SandboxSpec

HOME = "/home/agent"
EXECUTOR = "/run/executor.py"
LAUNCHER = "/run/program_launcher.py"
TMPFS_PLACES = ("/tmp", "/var/tmp", "/dev/shm", HOME)
MIN_VAR_TMP = 64_000_000

ETC_FILES = {
    "/etc/passwd": (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"agent:x:1000:1000:agent:{HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "/etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_PACKAGE = Path(__file__).resolve().parents[2]
_PREFIX_PARTS = ("bin", "lib", "lib64", "include")
_NO_PACKAGES_BELOW = {"share", "include", "src", "node_modules", "__pycache__"}
_PACKAGE_DIRECTORIES = ("site-packages", "dist-packages")
_HIDDEN_IN_USR = tuple(
    place for place in (Path("/usr/src"), Path("/usr/local/src")) if place.is_dir()
)
"""Directories below /usr where containers keep an application with its tasks, data and results."""
_USER_NAMESPACE = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns")
_ALWAYS = ("--as-pid-1", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL")


class Python:
    """The interpreter of a venv or a bare prefix, and the host directories it needs."""

    def __init__(self, environment: Path) -> None:
        self.environment = environment.absolute()
        self.executable = self.environment / "bin" / "python3"
        self.is_venv = (self.environment / "pyvenv.cfg").is_file()

    def directories(self) -> list[Path]:
        """Every directory that must be visible at its own path."""
        prefixes = {self.executable.resolve().parent.parent}
        if self.is_venv:
            prefixes.add(self._home().parent)
        else:
            prefixes.add(self.environment)
        parts = [prefix / part for prefix in sorted(prefixes) for part in _PREFIX_PARTS]
        return [part for part in parts if part.is_dir() and not _is_of_the_system(part)]

    def _home(self) -> Path:
        text = (self.environment / "pyvenv.cfg").read_text(encoding="utf-8")
        match = re.search(r"^home\s*=\s*(.+?)\s*$", text, re.MULTILINE)
        return Path(match[1]) if match else self.executable.resolve().parent


class Layout:
    """The bubblewrap calls for one spec; `uid` is the unprivileged uid when the caller is root."""

    def __init__(self, spec: SandboxSpec, bwrap: str, uid: int | None) -> None:
        self.spec = spec
        self.bwrap = bwrap
        self.uid = uid
        self.python = Python(spec.python_env)
        self._directories: set[str] = set()

    def command(self, control: int, hard_limits: str) -> list[str]:
        """The command after bubblewrap's options: drop privileges, then run the executor."""
        python = str(self.python.executable)
        executor = [python, "-I", "-S", "-B", EXECUTOR, str(control), hard_limits, *TMPFS_PLACES]
        if self.uid is None:
            return executor
        user = (f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")
        capabilities = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
        nested = [
            *(self.bwrap, "--bind", "/", "/", "--dev", "/dev"),
            *self._gpu_devices(),
            *self._tmpfs("/dev/shm"),
            *self._tmpfs("/var/tmp"),
            *_remount_read_only("/dev", "/proc"),
            *_USER_NAMESPACE,
            *("--cap-drop", "ALL", "--die-with-parent", "--chdir", WORKSPACE, "--"),
        ]
        return ["/usr/bin/setpriv", *user, *capabilities, *nested, *executor]

    def options(self, data_descriptors: dict[str, int]) -> list[str]:
        """bubblewrap's options; `data_descriptors` hold the files that the harness provides."""
        return [
            *self._namespaces(),
            *self._system(),
            *self._files(data_descriptors),
            *self._writable_memory(),
            *self._python(),
            *self._workspace(),
            *(_remount_read_only("/proc") if self.uid is None else ()),
            *_remount_read_only(*map(str, _HIDDEN_IN_USR), "/dev", "/"),
            *("--chdir", WORKSPACE if self.uid is None else "/"),
        ]

    def _namespaces(self) -> list[str]:
        if self.uid is None:
            return ["--unshare-all", *_USER_NAMESPACE, *_ALWAYS]
        unshared = [f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts", "cgroup-try")]
        capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        added = [word for name in capabilities for word in ("--cap-add", name)]
        return [*unshared, *_ALWAYS, *added]

    def _system(self) -> Iterator[str]:
        yield from ("--ro-bind", "/usr", "/usr")
        for place in _HIDDEN_IN_USR:
            yield from ("--perms", "0755", "--tmpfs", str(place))
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            place = Path("/", name)
            if place.is_symlink():
                yield from ("--symlink", str(place.readlink()), str(place))
            elif place.is_dir():
                yield from ("--ro-bind", str(place), str(place))
        if not self.bwrap.startswith("/usr/"):
            yield from self._read_only(Path(self.bwrap))
        yield from self._parents("/etc/passwd")
        for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/os-release"):
            yield from ("--ro-bind-try", name, name)
        yield from ("--proc", "/proc", "--dev", "/dev", *self._gpu_devices())

    def _files(self, descriptors: dict[str, int]) -> Iterator[str]:
        for target, descriptor in descriptors.items():
            yield from self._parents(target)
            yield from ("--perms", "0444", "--ro-bind-data", str(descriptor), target)

    def _writable_memory(self) -> Iterator[str]:
        for place in TMPFS_PLACES:
            yield from self._parents(place)
            yield from self._tmpfs(place)
            self._directories.add(place)

    def _tmpfs(self, place: str) -> list[str]:
        size = self.spec.limits.tmp_size
        size = max(size, MIN_VAR_TMP) if place == "/var/tmp" else size
        return ["--size", str(size), "--perms", "1777", "--tmpfs", place]

    def _python(self) -> Iterator[str]:
        directories = self.python.directories()
        for directory in directories:
            yield from self._read_only(directory)
        venv = self.python.environment if self.python.is_venv else None
        for hidden in _hidden_packages(Path("/usr"), *directories, venv=venv):
            yield from _hide(hidden)
        if venv is not None:
            yield from self._read_only(venv)
            if _PACKAGE.is_relative_to(venv):
                yield from _hide(_PACKAGE)

    def _workspace(self) -> Iterator[str]:
        yield from ("--bind", str(self.spec.workspace), WORKSPACE)
        self._directories.add(WORKSPACE)
        for bind in self.spec.binds:
            if not bind.target.startswith(f"{WORKSPACE}/"):
                yield from self._parents(bind.target)
            yield from ("--bind" if bind.writable else "--ro-bind", str(bind.source), bind.target)
        if self.spec.machine_code == "installed":
            yield from _remount_read_only(WORKSPACE)

    def _read_only(self, path: Path) -> Iterator[str]:
        yield from self._parents(str(path))
        yield from ("--ro-bind", str(path), str(path))

    def _parents(self, path: str) -> Iterator[str]:
        """Create the parents of a mount point; by default root's bubblewrap makes them private."""
        for parent in reversed(Path(path).parents):
            name = str(parent)
            if name not in self._directories and not _is_of_the_system(parent) and name != "/":
                self._directories.add(name)
                yield from ("--perms", "0755", "--dir", name)

    def _gpu_devices(self) -> Sequence[str]:
        if not self.spec.gpus:
            return ()
        devices = sorted(Path("/dev").glob("nvidia*"))
        return [word for device in devices for word in ("--dev-bind-try", str(device), str(device))]


def _is_of_the_system(path: Path) -> bool:
    """Whether it is visible because /usr is."""
    hidden = any(path.is_relative_to(place) for place in _HIDDEN_IN_USR)
    return path.is_relative_to("/usr") and not hidden


def _remount_read_only(*places: str) -> list[str]:
    return [word for place in places for word in ("--remount-ro", place)]


def _hide(place: Path) -> Sequence[str]:
    return ("--tmpfs", str(place), *_remount_read_only(str(place)))


@lru_cache(maxsize=32)
def _hidden_packages(*shown: Path, venv: Path | None) -> tuple[Path, ...]:
    """Installed packages below the visible directories, except the venv's own.

    This package itself is hidden wherever it is: it has the generators, graders and solutions.
    """
    found = [place for root in shown for place in _package_directories(root)]
    hidden = [place for place in found if venv is None or not place.is_relative_to(venv)]
    bare = any(_PACKAGE.is_relative_to(root) for root in shown)
    if bare and not any(_PACKAGE.is_relative_to(place) for place in found):
        hidden.append(_PACKAGE)
    return tuple(hidden)


@lru_cache(maxsize=32)
def _package_directories(root: Path) -> tuple[Path, ...]:
    found: list[Path] = []
    for folder, folders, _files in os.walk(root):
        packages = [Path(folder, name) for name in folders if name in _PACKAGE_DIRECTORIES]
        found += [path for path in packages if not path.is_symlink()]
        folders[:] = set(folders) - _NO_PACKAGES_BELOW - set(_PACKAGE_DIRECTORIES)
    return tuple(found)
