"""Attempts to break out, run inside a sandbox with what the attacker would love to know.

`python attacks.py FACTS.json [NAME...]` prints, as JSON, what each attempt got hold of; nothing
means that the sandbox held. The facts (paths, ports, pids of the host) are handed over, so that an
attempt fails because of the sandbox and not because it looked in the wrong place.
"""
# ruff: noqa: PTH101, PTH104, PTH105, PTH106, PTH108, PTH112, PTH113, PTH115, PTH118, PTH120, PTH123, PTH208, SIM115, SIM102

import ctypes
import ctypes.util
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

FACTS = json.loads(Path(sys.argv[1]).read_text())
MARKER = FACTS["marker"].encode()
LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
MS_BIND = 4096
NETLINK_ROUTE = 0
SYS_PIDFD_GETFD, SYS_PROCESS_VM_READV = 438, {"x86_64": 310, "aarch64": 270}[os.uname().machine]

SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}[os.uname().machine]

Loot = Iterator[str]
ATTACKS: list[Callable[[], Loot]] = []


def attack(function: Callable[[], Loot]) -> Callable[[], Loot]:
    ATTACKS.append(function)
    return function


def succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except OSError:
        return False
    return True


def call(name: str, *arguments: object) -> bool:
    """Whether a function of libc succeeds."""
    return bool(getattr(LIBC, name)(*arguments) >= 0)


def readable_names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def other_pids() -> list[int]:
    return [int(p.name) for p in Path("/proc").glob("[0-9]*") if int(p.name) != os.getpid()]


@attack
def use_inherited_descriptors() -> Loot:
    for name in os.listdir("/proc/self/fd"):
        target = (
            os.readlink(f"/proc/self/fd/{name}") if os.path.lexists(f"/proc/self/fd/{name}") else ""
        )
        if int(name) > 2 and target and not target.startswith("/proc/"):
            yield f"{name} -> {target}"


@attack
def read_what_is_hidden() -> Loot:
    for path in FACTS["hidden"]:
        if os.path.lexists(path):
            yield path
    for place in FACTS["half_hidden"]:
        for name in set(readable_names(place)) - {FACTS["shown_in_it"]}:
            yield f"{place}/{name}"


@attack
def find_the_marker_in_any_file() -> Loot:
    for top in ("/workspace", "/home", "/root", "/etc", "/run", "/tmp", "/var", "/opt", "/srv"):
        for folder, _directories, names in os.walk(top):
            for name in names:
                file = Path(folder, name)
                if file.name == sys.argv[1]:
                    continue
                try:
                    if file.is_file() and file.stat().st_size < 10**6:
                        if MARKER in file.read_bytes():
                            yield str(file)
                except OSError:
                    continue


@attack
def read_environments_and_command_lines() -> Loot:
    for pid in [*other_pids(), os.getpid()]:
        for name in ("environ", "cmdline", "stat", "maps"):
            try:
                text = Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                continue
            if MARKER in text and b"attacks.py" not in text:
                yield f"{pid}/{name}: {text[:200]!r}"


@attack
def see_or_signal_processes_of_the_host() -> Loot:
    for pid in other_pids():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"pytest" in command or b"guardian" in command:
            yield f"saw {pid}: {command!r}"
    parent = FACTS["harness_pid"]
    if parent > 1000 and Path(f"/proc/{parent}").exists():
        yield f"saw the harness {parent}"


@attack
def reach_the_network() -> Loot:
    for address in (
        ("1.1.1.1", 53),
        ("127.0.0.1", FACTS["tcp_port"]),
        ("0.0.0.0", FACTS["tcp_port"]),
    ):
        if succeeds(lambda address=address: socket.create_connection(address, timeout=1)):
            yield f"connected to {address}"
    abstract = socket.socket(socket.AF_UNIX)
    if succeeds(lambda: abstract.connect("\0" + FACTS["abstract_socket"])):
        yield "connected to an abstract socket"
    if succeeds(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)):
        yield "raw socket"
    interfaces = {name for _number, name in socket.if_nameindex()}
    if interfaces - {"lo"}:
        yield f"interfaces {interfaces}"


@attack
def open_sockets_that_no_namespace_confines() -> Loot:
    """AF_VSOCK reaches the hypervisor, AF_ALG and most netlink protocols the kernel itself."""
    types = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
    for family in set(range(64)) - {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}:
        for protocol in range(32) if family == socket.AF_NETLINK else (0, 1):
            if (family, protocol) == (socket.AF_NETLINK, NETLINK_ROUTE):
                continue
            for kind in types:
                for function in ("socket", "socketpair"):
                    pair = (ctypes.c_int * 2)()
                    arguments = (pair,) if function == "socketpair" else ()
                    if call(function, family, kind, protocol, *arguments):
                        yield f"{function} of family {family}, type {kind}, protocol {protocol}"


@attack
def import_the_harness() -> Loot:
    for name in ("mlagentbench", "inspect_ai"):
        done = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True)
        if done.returncode == 0:
            yield f"imported {name}"
    for place in FACTS["package_directories"]:
        if os.path.isdir(place) and os.listdir(place):
            yield f"{place} holds {os.listdir(place)[:3]}"


@attack
def alter_read_only_data() -> Loot:
    for name in ("/workspace/data.csv", "/workspace/folder/inner.csv"):
        before = Path(name).read_bytes()
        tries: dict[str, Callable[[], object]] = {
            "write": lambda name=name: os.open(name, os.O_WRONLY),
            "truncate": lambda name=name: os.open(name, os.O_WRONLY | os.O_TRUNC),
            "os.truncate": lambda name=name: os.truncate(name, 0),
            "append": lambda name=name: os.open(name, os.O_APPEND | os.O_WRONLY),
            "chmod": lambda name=name: os.chmod(name, 0o777),
            "chown": lambda name=name: os.chown(name, os.getuid(), os.getgid()),
            "utime": lambda name=name: os.utime(name, (1, 1)),
            "unlink": lambda name=name: os.unlink(name),
            "rename": lambda name=name: os.rename(name, "/workspace/away"),
            "replace": lambda name=name: os.replace(sys.argv[1], name),
            "hard link": lambda name=name: os.link(name, "/workspace/hard"),
            "new name": lambda name=name: (
                os.open(name + "x", os.O_CREAT | os.O_WRONLY)
                if "inner" in name
                else os.open("/", os.O_WRONLY)
            ),
            "xattr": lambda name=name: os.setxattr(name, "user.x", b"1"),
        }
        for label, attempt in tries.items():
            if succeeds(attempt):
                yield f"{label} {name}"
        if not os.path.isfile(name) or Path(name).read_bytes() != before:
            yield f"changed {name}"
    for parent in ("/workspace/folder", "/workspace"):
        if succeeds(lambda parent=parent: os.rename(parent, parent + "-away")):
            yield f"renamed {parent}"
        if succeeds(lambda parent=parent: os.rmdir(parent)):
            yield f"removed {parent}"


LANGUAGES = re.compile(
    r"(.*-)?(gcc|g\+\+|cc|c\+\+|cpp|cc1|cc1plus|collect2|as|ld|gold|clang|clang\+\+|tcc|lld|llc|lli"
    r"|gfortran|gnat|nvcc|ptxas|rustc|cargo|go|gccgo|gopls|javac?|jshell|kotlin|scala|groovy|node"
    r"|nodejs|deno|bun|qjs|perl|ruby|irb|php|lua|luajit|tclsh|wish|guile|Rscript|R|julia|octave|ghc"
    r"|ocaml|erl|elixir|swift|dotnet|mono|csc|fpc|nasm|yasm|make|cmake|ninja|gdb|busybox)"
    r"(-?[0-9.]+)?(\.exe)?"
)
LIBRARIES = re.compile(
    r"lib(LLVM|clang|gccjit|tcc|perl|ruby|node|v8|mozjs|guile|lua|tcl|jvm|R\.so|php|julia|mono)"
)


@attack
def find_compilers_and_language_runtimes() -> Loot:
    for folder, folders, names in os.walk(FACTS["walked"]):
        if folder == "/":
            folders[:] = set(folders) - {"proc", "workspace"}
        for name in names:
            place = Path(folder, name)
            if LANGUAGES.fullmatch(name) and place.is_file() and os.access(place, os.X_OK):
                yield str(place)
            if LIBRARIES.match(name) and ".so" in name and place.exists():
                if succeeds(lambda place=place: ctypes.CDLL(str(place))):
                    yield f"loaded {place}"
    for name in ("gcc", "cc", "as", "ld", "clang", "perl", "node", "java", "go", "rustc", "nvcc"):
        for path in (
            name,
            f"/usr/bin/{name}",
            f"/usr/local/bin/{name}",
            f"/proc/1/root/bin/{name}",
        ):
            command = [path, "--version"]
            if succeeds(lambda command=command: subprocess.run(command, capture_output=True)):
                yield f"ran {path}"
    for name in ("LLVM", "clang", "gccjit", "tcc", "perl", "python3", "node"):
        if found := ctypes.util.find_library(name):
            if succeeds(lambda found=found: ctypes.CDLL(found)) and "python" not in found:
                yield f"loaded {found}"


@attack
def mount_things() -> Loot:
    if call("mount", b"none", b"/workspace/folder", b"tmpfs", 0, None):
        yield "mounted a tmpfs over the data"
    if call("mount", b"/tmp", b"/workspace/folder", None, MS_BIND, None):
        yield "bound over the data"
    for name in (b"/workspace/data.csv", b"/workspace/folder", b"/proc", b"/dev", b"/tmp"):
        if call("umount2", name, 2):
            yield f"unmounted {name!r}"


@attack
def make_namespaces() -> Loot:
    for flag in (CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS):
        child = os.fork()
        if child == 0:
            os._exit(1 if call("unshare", flag) else 0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            yield f"unshare({flag:#x})"
    for command in ("unshare", "bwrap", "/run/start/bwrap", "/run/start/setpriv"):
        if succeeds(lambda command=command: subprocess.run([command], capture_output=True)):
            yield f"ran {command}"
    for pid in (1, 2):
        for kind in ("user", "mnt", "pid", "net"):
            try:
                descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            except OSError:
                continue
            if kind in ("user", "mnt") and call("setns", descriptor, 0):
                yield f"setns {pid} {kind}"


def write_back(place: str) -> None:
    """Write what is there already: harmless, and as telling as a change."""
    with open(place, "rb") as handle:
        value = handle.read(4096)
    with open(place, "wb", buffering=0) as handle:
        handle.write(value)


@attack
def change_the_kernel() -> Loot:
    places = ["/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/sys/kernel", "/proc/acpi"]
    for folder, _directories, names in os.walk("/proc/sys"):
        places += [os.path.join(folder, name) for name in names]
    for place in places:
        if succeeds(lambda place=place: write_back(place)):
            yield f"wrote {place}"
    if succeeds(lambda: os.close(os.open("/proc/kcore", os.O_RDONLY))):
        yield "read /proc/kcore"
    if call("sethostname", b"broken", 6):
        yield "sethostname"
    if call("reboot", 0):
        yield "reboot"
    if succeeds(lambda: os.nice(-5)):
        yield "nice"


@attack
def become_root() -> Loot:
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    if status["NoNewPrivs"].strip() != "1":
        yield "new privileges are allowed"
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(status[name], 16):
            yield f"{name} {status[name]}"
    if os.getuid() == 0 or succeeds(lambda: os.setuid(0)) or succeeds(lambda: os.setgid(0)):
        yield "root"
    if succeeds(lambda: os.chroot("/tmp")):
        yield "chroot"
    for program in ("su", "sudo", "mount", "passwd", "newgrp", "pkexec"):
        done = subprocess.run(
            ["sh", "-c", f"{program} root -c id || {program}"],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=10,
        )  # fmt: skip
        if b"uid=0" in done.stdout:
            yield program


@attack
def touch_the_executor() -> Loot:
    ours = os.getpid()
    for pid in other_pids():
        if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == ours:
            continue
        if LIBC.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0:
            yield f"ptrace {pid}"
        for name in ("mem", "environ", "maps"):
            if succeeds(lambda pid=pid, name=name: Path(f"/proc/{pid}/{name}").open("rb").read(1)):
                yield f"/proc/{pid}/{name}"
        for name in ("root", "cwd", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "exe"):
            if succeeds(lambda pid=pid, name=name: os.readlink(f"/proc/{pid}/{name}")):
                yield f"/proc/{pid}/{name}"
        handle = os.pidfd_open(pid)
        for descriptor in range(12):
            if LIBC.syscall(SYS_PIDFD_GETFD, handle, descriptor, 0) >= 0:
                yield f"pidfd_getfd {pid} {descriptor}"
        buffer = ctypes.create_string_buffer(16)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
        remote = (ctypes.c_void_p * 2)(0x400000, 16)
        if LIBC.syscall(SYS_PROCESS_VM_READV, pid, vector, 1, remote, 1, 0) >= 0:
            yield f"process_vm_readv {pid}"


@attack
def write_outside_of_the_workspace() -> Loot:
    places = ["/", "/dev", "/etc", "/usr", "/usr/lib", "/run", "/home", "/var", "/proc", "/usr/bin"]
    places += [
        os.path.dirname(sys.executable),
        os.path.dirname(os.__file__),
        *FACTS["package_directories"],
    ]
    for place in places:
        if succeeds(lambda place=place: os.close(os.open(f"{place}/x", os.O_CREAT | os.O_WRONLY))):
            yield place


@attack
def use_devices() -> Loot:
    for device in Path("/dev").iterdir():
        if stat.S_ISBLK(device.lstat().st_mode) or device.name in (
            "mem",
            "kmsg",
            "port",
            "kvm",
            "fuse",
        ):
            yield str(device)
    if succeeds(lambda: os.mknod("/workspace/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))):
        yield "mknod"


@attack
def hide_memory_in_the_kernel() -> Loot:
    if call("shmget", 0, 4096, 0o1600):
        yield "System V shared memory"
    if call("msgget", 0, 0o1600):
        yield "a message queue"
    if succeeds(lambda: os.memfd_create("hidden")):
        yield "a memory file"


@attack
def read_the_keyring_of_the_session() -> Loot:
    if call("syscall", SYS_KEYCTL, 0, -3, 0):
        yield "the session keyring"


@attack
def run_on_other_cores() -> Loot:
    for pid in (0, *other_pids()):
        for cores in ({0}, set(range(1024)), os.sched_getaffinity(0)):
            if succeeds(lambda pid=pid, cores=cores: os.sched_setaffinity(pid, cores)):
                yield f"process {pid} on cores of its choice"


@attack
def kill_what_is_not_ours() -> Loot:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        succeeds(lambda number=number: os.kill(1, number))
    if Path("/proc/1/stat").read_text().rpartition(")")[2].split()[0] in "TZX":
        yield "stopped or killed pid 1"


def main() -> None:
    chosen = sys.argv[2:]
    loot = {
        function.__name__: list(function())
        for function in ATTACKS
        if not chosen or function.__name__ in chosen
    }
    print(json.dumps(loot))


main()
