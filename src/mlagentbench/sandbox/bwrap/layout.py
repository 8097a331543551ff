"""What is visible in a sandbox, as arguments of bubblewrap.

An ordinary user gets a user namespace. For root that would not be safe: uid 1000 in the sandbox
would be host root for every permission check. So for root the mounts are made without one, the
process drops to an unprivileged uid of its own, and a second, nested call closes user namespaces.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mlagentbench.sandbox.base import WORKSPACE, SandboxSpec
from mlagentbench.sandbox.bwrap.visible.host_view import STARTERS, Places, host_view
from mlagentbench.sandbox.executor.places import EXECUTOR, HOME, TMPFS_PLACES, tmpfs_size

DEVICES = Path("/dev")
_GPU_CONTROL = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")

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
_USER_NAMESPACE = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns")
_ALWAYS = ("--as-pid-1", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL")


class Layout:
    """The bubblewrap calls for one spec; `uid` is the unprivileged uid when the caller is root."""

    def __init__(self, spec: SandboxSpec, bwrap: str, uid: int | None) -> None:
        self.spec = spec
        self.bwrap = bwrap
        self.uid = uid
        self._host = host_view(
            spec.python_env, spec.tools, bool(spec.gpus), None if uid is None else bwrap
        )
        self._places = Places(self._host.places)

    def command(self, control: int, hard_limits: str) -> list[str]:
        """The command after bubblewrap's options: drop privileges, then run the executor."""
        program = (self._host.python.program, "-I", "-S", "-B", EXECUTOR)
        executor = [*program, str(control), hard_limits, *TMPFS_PLACES]
        if self.uid is None:
            return executor
        user = (f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")
        capabilities = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
        nested = [
            *(f"{STARTERS}/bwrap", "--bind", "/", "/", "--dev", "/dev"),
            *self._gpu_devices(Path("/dev")),
            *self._tmpfs("/dev/shm"),
            *self._tmpfs("/var/tmp"),
            *("--tmpfs", STARTERS),
            *_remount_read_only("/dev", "/proc", STARTERS),
            *_USER_NAMESPACE,
            *("--cap-drop", "ALL", "--die-with-parent", "--chdir", WORKSPACE, "--"),
        ]
        return [f"{STARTERS}/setpriv", *user, *capabilities, *nested, *executor]

    def options(self, data_descriptors: dict[str, int]) -> list[str]:
        """bubblewrap's options; `data_descriptors` hold the files that the harness provides."""
        return [
            *self._namespaces(),
            *self._host.options,
            *("--proc", "/proc", "--dev", "/dev", *self._gpu_devices(DEVICES)),
            *self._files(data_descriptors),
            *self._writable_memory(),
            *self._workspace(),
            *(_remount_read_only("/proc") if self.uid is None else ()),
            *_remount_read_only("/dev", "/"),
            *("--chdir", WORKSPACE if self.uid is None else "/"),
        ]

    def _namespaces(self) -> list[str]:
        if self.uid is None:
            return ["--unshare-all", *_USER_NAMESPACE, *_ALWAYS]
        unshared = [f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts", "cgroup-try")]
        capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        added = [word for name in capabilities for word in ("--cap-add", name)]
        return [*unshared, *_ALWAYS, *added]

    def files(self) -> dict[str, bytes]:
        """The small files that the harness provides, by their places."""
        return {**{name: text.encode() for name, text in ETC_FILES.items()}, **self._host.files}

    def _files(self, descriptors: dict[str, int]) -> Iterator[str]:
        for target, descriptor in descriptors.items():
            yield from self._places.parents(target)
            yield from ("--perms", "0444", "--ro-bind-data", str(descriptor), target)

    def _writable_memory(self) -> Iterator[str]:
        for place in TMPFS_PLACES:
            yield from self._places.parents(place)
            yield from self._tmpfs(place)
            self._places.made.add(Path(place))

    def _tmpfs(self, place: str) -> list[str]:
        size = tmpfs_size(place, self.spec.limits.tmp_size)
        return ["--size", str(size), "--perms", "1777", "--tmpfs", place]

    def _workspace(self) -> Iterator[str]:
        yield from ("--bind", str(self.spec.workspace), WORKSPACE)
        self._places.made.add(Path(WORKSPACE))
        for bind in self.spec.binds:
            if not bind.target.startswith(f"{WORKSPACE}/"):
                yield from self._places.parents(bind.target)
            yield from ("--bind" if bind.writable else "--ro-bind", str(bind.source), bind.target)
        if self.spec.machine_code == "installed":
            yield from _remount_read_only(WORKSPACE)

    def _gpu_devices(self, source: Path) -> Sequence[str]:
        """The devices of its own GPUs, and those that all GPUs need."""
        if not self.spec.gpus:
            return ()
        names = (*(f"nvidia{gpu.minor}" for gpu in self.spec.gpus), *_GPU_CONTROL)
        return [
            word
            for name in names
            for word in ("--dev-bind-try", str(source / name), f"/dev/{name}")
        ]


def _remount_read_only(*places: str) -> list[str]:
    return [word for place in places for word in ("--remount-ro", place)]
