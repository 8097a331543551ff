"""Nothing of one command is there at the next: each attempt is made in one and the same sandbox.

An attempt takes a census of what it finds around it once it has done its worst, and the command
after it takes another, which must be what it was before.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandboxes import PYTHON, sandbox_on

from mlagentbench.environment.actions.repl import Repl
from mlagentbench.sandbox.base import CommandResult
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.sandbox.inspect_provider import BubblewrapSandboxEnvironment

pytestmark = pytest.mark.slow

CENSUS = Path(__file__).with_name("census.py").read_text(encoding="utf-8")
START = """
import ctypes, os, resource, signal, socket, sys, time
libc = ctypes.CDLL(None)
MACHINE = os.uname().machine
SUPERVISOR = os.getppid()
def others():
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
def in_background(work=lambda: time.sleep(60)):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 32):
                if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
                    signal.signal(number, signal.SIG_IGN)
            os.chdir("/")
            os.write(write, b"x")
            work()
        os._exit(0)
    os.read(read, 1)
    os.wait()
"""
HELD = {
    "a daemon that ignores signals": "in_background()",
    "a daemon that holds neither output nor input": """
in_background(lambda: (os.closerange(0, 1000), time.sleep(60)))""",
    "a stopped process": """
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSTOP)""",
    "a traced process": """
child = os.fork()
if child == 0:
    time.sleep(60)
libc.ptrace(16, child, 0, 0)""",
    "a hundred processes": """
for _ in range(100):
    if os.fork() == 0:
        time.sleep(60)""",
    "a child of the supervisor's": """
if libc.syscall({"x86_64": 56, "aarch64": 220}[MACHINE], 0x8000 | 17, 0, 0, 0, 0) == 0:
    time.sleep(60)""",
    "sockets that listen": """
server = socket.create_server(("127.0.0.1", 8765))
hidden = socket.socket(socket.AF_UNIX)
hidden.bind("\\0hidden")
named = socket.socket(socket.AF_UNIX)
named.bind("/tmp/named")
in_background()""",
    "a locked file": """
import fcntl
locked = open("/workspace/locked", "w")
fcntl.flock(locked, fcntl.LOCK_EX)
fcntl.lockf(locked, fcntl.LOCK_EX)
in_background()""",
    "files everywhere": """
for place in ("/tmp", "/var/tmp", "/dev/shm", "/home/agent"):
    os.makedirs(f"{place}/.config/deep/er")
    open(f"{place}/.config/deep/er/file", "w").write("x")
    os.symlink("/workspace", f"{place}/link")
    os.symlink("/workspace", f"{place}/.config/link")
    os.mkfifo(f"{place}/fifo")
    os.link(f"{place}/.config/deep/er/file", f"{place}/hard")
    open(os.fsencode(place) + b"/\\xff \\n", "w").write("x")
open("/workspace/kept", "w").write("x")""",
    "what shells and Python read at their start": """
site = "/home/agent/.local/lib/python%d.%d/site-packages" % sys.version_info[:2]
os.makedirs(site)
for name in ("usercustomize.py", "sitecustomize.py", "start.pth"):
    open(f"{site}/{name}", "w").write("import os; os.environ['CAUGHT'] = '1'")
for name in (".bashrc", ".profile", ".bash_env", ".pythonrc.py"):
    open(f"/home/agent/{name}", "w").write("export CAUGHT=1")""",
    "closed directories": """
os.makedirs("/tmp/closed/inner/most")
open("/tmp/closed/inner/file", "w").write("x")
for place in ("/tmp/closed/inner/most", "/tmp/closed/inner", "/tmp/closed"):
    os.chmod(place, 0)""",
    "a path too long for a name": """
os.chdir("/tmp")
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
os.chdir("/workspace")""",
    "many files": """
for number in range(3000):
    open(f"/dev/shm/{number}", "w")""",
    "shared memory and semaphores of POSIX": """
from multiprocessing import shared_memory, resource_tracker
memory = shared_memory.SharedMemory(create=True, size=4096)
resource_tracker.unregister(memory._name, "shared_memory")
libc.sem_open.restype = ctypes.c_void_p
libc.sem_open(b"/left", os.O_CREAT, 0o600, 1)""",
    "a shared directory that is closed": 'os.chmod("/dev/shm", 0o755)',
    "a shared directory with defaults for new files": """
import struct
entries = ((1, 7, -1), (2, 7, 1000), (4, 0, -1), (16, 7, -1), (32, 0, -1))
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
os.setxattr("/dev/shm", "system.posix_acl_default", acl)""",
    "its own priority, limits, mask, directory and signals": """
os.nice(3)
os.umask(0o777)
os.chdir("/tmp")
os.environ["LEFT"] = "1"
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
signal.setitimer(signal.ITIMER_REAL, 60)""",
}
REFUSED = {
    "semaphores of System V": "libc.semget(7, 1, 0o1600)",
    "shared memory of System V": "libc.shmget(7, 4096, 0o1600)",
    "message queues": "libc.msgget(7, 0o1600); libc.syscall(240, b'left', 0o102, 0o600, 0)",
    "keys": 'libc.syscall(248, b"user", b"left", b"x", 1, -4)',
    "mounts": """
libc.unshare(0x10000000 | 0x00020000)
libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
libc.mount(b"/tmp", b"/workspace", None, 4096, None)
libc.umount2(b"/tmp", 2)""",
    "the name of the host": 'libc.sethostname(b"left", 4)',
    "priorities for input and output": """
for pid in others():
    libc.syscall({"x86_64": 251, "aarch64": 30}[MACHINE], 1, pid, 3 << 13)""",
    "the processors of all processes": """
for pid in others():
    libc.sched_setaffinity(pid, 8, (1 << min(os.sched_getaffinity(0))).to_bytes(8, "little"))""",
}
ON_OTHERS = {
    "the priority of all processes": "os.setpriority(os.PRIO_USER, 0, os.nice(0) + 1)",
    "the scheduler of all processes": """
for pid in others():
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))""",
    "the limits of all processes": """
for pid in others():
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (100, 100))""",
}
DEADLY = {
    "a daemon whose supervisor is killed": "in_background(); os.kill(SUPERVISOR, signal.SIGKILL)",
    "a daemon after everything else is killed": """
in_background()
for pid in others():
    if pid != 1 and open(f"/proc/{pid}/stat").read().split()[4] != str(os.getpid()):
        os.kill(pid, signal.SIGKILL)
time.sleep(60)""",
}


class Attacked:
    """A sandbox, and what a command found in it before any attempt."""

    def __init__(self, workspace: Path, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.sandbox: BubblewrapSandbox = sandbox_on(workspace)
        runner.run(self.sandbox.start())
        self.untouched = self.census()

    def run(self, attempt: str) -> CommandResult:
        return self.runner.run(self.sandbox.run([PYTHON, "-c", START + attempt], timeout=20))

    def found_by(self, attempt: str) -> dict[str, object]:
        """What an attempt finds around it after it was made."""
        result = self.run(f"{attempt}\n{CENSUS}")
        return dict(json.loads(result.stdout))

    def census(self) -> dict[str, object]:
        return self.found_by("")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with asyncio.Runner() as runner:
        attacked = Attacked(tmp_path_factory.mktemp("leftovers") / "workspace", runner)
        yield attacked
        runner.run(attacked.sandbox.stop())


@pytest.mark.parametrize("what", HELD)
def test_it_is_gone_with_the_command(what: str, attacked: Attacked) -> None:
    identity = attacked.sandbox.identity
    assert attacked.found_by(HELD[what]) != attacked.untouched
    assert attacked.census() == attacked.untouched
    assert attacked.sandbox.identity == identity


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str, attacked: Attacked) -> None:
    assert attacked.found_by(REFUSED[what]) == attacked.untouched
    assert attacked.census() == attacked.untouched


@pytest.mark.parametrize("what", ON_OTHERS)
def test_what_cannot_be_set_back_costs_the_sandbox(what: str, attacked: Attacked) -> None:
    result = attacked.run(ON_OTHERS[what])
    assert (result.exit_code, result.output, result.restarted) == (0, "", True)
    assert attacked.census() == attacked.untouched


@pytest.mark.parametrize("what", DEADLY)
def test_nothing_outlives_its_supervisor(what: str, attacked: Attacked) -> None:
    assert attacked.run(DEADLY[what]).restarted
    assert attacked.census() == attacked.untouched


def test_a_stopped_executor_goes_on(attacked: Attacked) -> None:
    attacked.run(
        "time.sleep(0.1)\n"
        "for pid in others():\n"
        "    if pid != SUPERVISOR: os.kill(pid, signal.SIGSTOP)"
    )
    assert attacked.runner.run(attacked.sandbox.read("/etc/hosts"))
    assert attacked.census() == attacked.untouched


def test_the_workspace_stays(attacked: Attacked) -> None:
    attacked.run("open('stays', 'w').write('x'); os.symlink('/tmp', 'to-tmp')")
    assert attacked.runner.run(attacked.sandbox.read("stays")) == b"x"
    assert attacked.run("print(os.readlink('to-tmp'))").output == "/tmp\n"


REPLS = "open('/tmp/session', 'w').write('x'); import subprocess; subprocess.Popen(['sleep', '61'])"
SCRIPTS = "open('/tmp/script', 'w').write('x'); os.mkdir('/dev/shm/script'); in_background()"


def test_a_session_keeps_its_own_until_it_ends(attacked: Attacked) -> None:
    repl = Repl(attacked.sandbox, lambda: None)
    asked = attacked.runner.run(repl.run(REPLS, 20, 1000, lambda _output: None))
    assert not asked.raised, asked
    during = attacked.census()
    attacked.run(SCRIPTS)
    assert attacked.census() == during != attacked.untouched
    assert "b'/tmp/session'" in str(during["files"])
    assert "(sleep)" in str(during["processes"])
    attacked.runner.run(repl.stop())
    assert attacked.census() == attacked.untouched


BUSY = """
import os, threading
def work():
    while True:
        for number in range(50):
            open(f"/tmp/{number}", "w").close()
        for number in range(50):
            if os.path.exists(f"/tmp/{number}"):
                os.unlink(f"/tmp/{number}")
threading.Thread(target=work, daemon=True).start()
"""


def test_a_session_can_write_files_while_scripts_run(attacked: Attacked) -> None:
    repl = Repl(attacked.sandbox, lambda: None)
    attacked.runner.run(repl.run(BUSY, 20, 1000, lambda _output: None))
    for _ in range(5):
        assert not attacked.run("open('/tmp/script', 'w').close()").restarted
        assert attacked.run("print(os.path.exists('/tmp/script'))").output == "False\n"
    attacked.runner.run(repl.stop())
    assert attacked.census() == attacked.untouched


def test_a_session_whose_supervisor_is_killed_leaves_nothing(attacked: Attacked) -> None:
    repl = Repl(attacked.sandbox, lambda: None)
    attacked.runner.run(repl.run(REPLS, 20, 1000, lambda _output: None))
    attacked.run("for pid in others():\n    if pid != 1: os.kill(pid, signal.SIGKILL)")
    attacked.runner.run(repl.stop())
    assert attacked.census() == attacked.untouched


def test_what_inspect_leaves_stays_until_the_sample_ends(tmp_path: Path) -> None:
    async def use() -> int:
        sandbox = sandbox_on(tmp_path / "workspace")
        provider = BubblewrapSandboxEnvironment()
        await provider.attach(sandbox)
        await provider.write_file("/tmp/tool", "x")
        await provider.exec(["sh", "-c", "sleep 62 > /var/tmp/output & echo > /home/agent/left"])
        await sandbox.run(["true"])
        listed = await sandbox.run(["ls", "/tmp/tool", "/var/tmp/output", "/home/agent/left"])
        assert listed.exit_code == 0, listed.output
        pid = sandbox.identity.pid
        await BubblewrapSandboxEnvironment.sample_cleanup(
            "task", None, {"default": provider}, False
        )
        return pid

    pid = asyncio.run(use())
    assert not Path(f"/proc/{pid}").exists()
    assert os.listdir(tmp_path / "workspace") == []  # noqa: PTH208
