"""Runs whose harness is killed with SIGKILL and resumed, seen against one that nobody disturbed.

A Course is what is run. A Harness is one run of it, as a process of its own: `kill_after` and
`kill_in` start or resume it and kill it at a moment, `finish` brings it to its end.
undisturbed.py says in what it then is not what it would have been without kills.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from mlagentbench.models.mailbox_folder import MailFolder, MailReply
from mlagentbench.models.question import prompt_text
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import whole_lines
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import read_grades, run_directories
from mlagentbench.runs.resumption import INTERRUPTED

COMMAND = Path(sys.prefix) / "bin" / "mlagentbench"
SELF_KILLING = Path(__file__).with_name("killed_harness.py")
BASE_INSTALL = Path(__file__).with_name("base_install")
"""On PYTHONPATH it hides the providers' SDKs, without which the harness starts in half the time."""
PATIENCE = 30.0
"""Seconds after which no process of a killed harness may be left."""
LOOK_EVERY = 0.05
KILLS_PER_RUN = 6
MAX_STEPS = "100"
"""Interrupted steps count, too."""

Reply = Callable[[int, str, int], MailReply]
"""A model's reply, given the uninterrupted step, the role, and its index within the step."""
Met = Literal["opening", "between steps", "in a step", "grading", "after the grade", "between runs"]


@dataclass(frozen=True)
class Course:
    """A task, an agent, and what its model says if it has one."""

    name: str
    task: str
    agent: str
    reply: Reply | None = None


class Kill(Record):
    """One kill: what the run was doing, and what was left."""

    moment: str
    started_by: Literal["run", "resume"]
    met: Met
    torn: bool
    """Whether the journal ended with a part of a line."""
    left_processes: int


class Harness:
    """One run in a directory of its own."""

    def __init__(
        self, course: Course, folder: Path, out: str, variables: Mapping[str, str], seed: int = 0
    ) -> None:
        self.course = course
        self.out = folder / out
        self.mail = folder / f"{out}-mail"
        self.kills: list[Kill] = []
        self.answers = 0
        self.untold: list[str] = []
        """Questions after an interruption that say nothing of it."""
        self._folder = folder
        self._variables = {**variables, "PYTHONPATH": first_on_path(BASE_INSTALL, variables)}
        self._printed = folder / f"{out}.txt"
        self._random = random.Random(seed)
        self._started_by: Literal["run", "resume"] = "run"

    @property
    def run(self) -> RunDirectory:
        """The run's directory, once there is one."""
        [run] = run_directories(self.out)
        return run

    @property
    def lost_answers(self) -> int:
        """Answers that were given, and lost before they were in the journal."""
        return self.answers - len(read_journal(self.run.journal).replies)

    # Processes

    def finish(self) -> float:
        """Let the run go on to its end; returns the seconds for which it held its directory."""
        with self._answered():
            process = self._start()
            wait_until_it_holds(process, self.out)
            started = time.monotonic()
            if process.wait() != 0:
                raise AssertionError(self._printed.read_text())
            return time.monotonic() - started

    def kill_after(self, seconds: float) -> Kill | None:
        """Kill it so long after it took hold of its directory; None when it had ended by then."""
        family: list[psutil.Process] = []
        with self._answered():
            process = self._start()
            wait_until_it_holds(process, self.out)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                family = family_of(process)
                process.kill()
            code = process.wait()
        if code not in (0, -signal.SIGKILL):
            raise AssertionError(self._printed.read_text())
        return None if code == 0 else self._note(f"after {seconds:.2f} s", family)

    def kill_in(self, moment: str, times: int = 1) -> Kill:
        """Let it kill itself in the middle of something; see killed_harness.py."""
        with self._answered():
            process = self._start(sys.executable, str(SELF_KILLING), moment, str(times))
            family: set[psutil.Process] = set()
            while process.poll() is None:
                family.update(family_of(process))
                time.sleep(LOOK_EVERY)
        if process.returncode != -signal.SIGKILL:
            raise AssertionError(f"{moment} never came:\n{self._printed.read_text()}")
        return self._note(moment, list(family))

    def _start(self, *program: str) -> "subprocess.Popen[bytes]":
        arguments = self._arguments()
        with self._printed.open("wb") as printed:
            return subprocess.Popen(
                [*(program or (str(COMMAND),)), *arguments],
                cwd=self._folder, env=self._variables, stdin=subprocess.DEVNULL,
                stdout=printed, stderr=printed,
            )  # fmt: skip

    def _arguments(self) -> list[str]:
        """Of a run that has begun, one or the other way of letting it go on."""
        mail = [] if self.course.reply is None else ["-M", f"dir={self.mail}"]
        begun = list(run_directories(self.out))
        self._started_by = self._random.choice(("run", "resume")) if begun else "run"
        if self._started_by == "resume":
            own = ["--agent", self.course.agent] if ".py" in self.course.agent else []
            return ["resume", str(begun[0].path), *own, *mail]
        model = ["--models", "mlagentbench/mailbox", *mail] if mail else []
        return [
            "run", "--tasks", self.course.task, "--agents", self.course.agent, *model,
            "--out", str(self.out), "--max-steps", MAX_STEPS,
        ]  # fmt: skip

    def _note(self, moment: str, family: Sequence[psutil.Process]) -> Kill:
        left = left_after(PATIENCE, self.out, family)
        runs = list(run_directories(self.out))
        kill = Kill(
            moment=moment,
            started_by=self._started_by,
            met=met_in(runs[0]) if runs else "opening",
            torn=bool(runs) and is_torn(runs[0]),
            left_processes=left,
        )
        self.kills.append(kill)
        return kill

    # The model

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Answer what the run asks meanwhile, as a person at its mailbox would."""
        if self.course.reply is None:
            yield
            return
        done = threading.Event()
        thread = threading.Thread(target=self._answer, args=(done, self.course.reply))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _answer(self, done: threading.Event, reply: Reply) -> None:
        folder = MailFolder(self.mail)
        while not done.wait(LOOK_EVERY):
            for name in folder.waiting():
                asked = folder.read(name)
                if asked is None or asked.run is None or asked.step is None:
                    continue
                steps = read_journal(RunDirectory(self.out, Path(asked.run)).journal).steps
                before = [step.observation.status for step in steps[: asked.step - 1]]
                if before[-1:] == ["interrupted"] and asked.role == "main":
                    self._require_told(name, prompt_text(asked.messages))
                effective = asked.step - before.count("interrupted")
                folder.answer(name, reply(effective, asked.role, asked.number))
                self.answers += 1

    def _require_told(self, name: str, prompt: str) -> None:
        if INTERRUPTED.text not in prompt:
            self.untold.append(name)


def killed_at_random(
    course: Course,
    folder: Path,
    variables: Mapping[str, str],
    kills: int,
    longest: float,
    chance: random.Random,
) -> Iterator[Harness]:
    """Runs that are killed at so many moments in all, each up to `longest` seconds after a start.

    All are brought to their ends; a run that ends before its next kill leaves it to another.
    """
    runs = 0
    while kills > 0:
        runs += 1
        harness = Harness(course, folder, f"killed-{runs}", variables, chance.getrandbits(32))
        while kills > 0 and len(harness.kills) < KILLS_PER_RUN:
            if harness.kill_after(chance.uniform(0, longest)) is None:
                break
            kills -= 1
        else:
            harness.finish()
        yield harness


def wait_until_it_holds(process: "subprocess.Popen[bytes]", out: Path) -> None:
    """Wait until a process has taken a run below OUT, or has ended; before, it touches nothing."""
    while process.poll() is None and run_held_by(process, out) is None:
        time.sleep(LOOK_EVERY)


def run_held_by(process: "subprocess.Popen[bytes]", out: Path) -> RunDirectory | None:
    for run in run_directories(out):
        holder = run.holder
        if holder is not None and holder.pid == process.pid:
            return run
    return None


def first_on_path(directory: Path, variables: Mapping[str, str]) -> str:
    """PYTHONPATH with this directory before all others."""
    return os.pathsep.join(filter(None, [str(directory), variables.get("PYTHONPATH")]))


def family_of(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def left_after(patience: float, out: Path, family: Sequence[psutil.Process]) -> int:
    """How many of its processes are alive still, when no more of them go away."""
    deadline = time.monotonic() + patience
    _, alive = psutil.wait_procs(family, timeout=patience)
    while found := {one.pid for one in alive} | _inside(out):
        if time.monotonic() > deadline:
            return len(found)
        time.sleep(LOOK_EVERY)
    return 0


def _inside(out: Path) -> set[int]:
    """The processes that live in a sandbox on something below OUT, whoever their parents are."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            mounts = place.read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        if os.fsencode(out) in mounts:
            found.add(int(place.parent.name))
    return found


def takeovers(run: RunDirectory) -> int:
    """How often the journal was continued by another process."""
    return len({json.loads(raw)["token"] for raw in whole_lines(run.journal)}) - 1


def is_torn(run: RunDirectory) -> bool:
    """Whether the journal ends with a part of a line."""
    written = run.journal.read_bytes() if run.journal.exists() else b""
    return written != b"" and not written.endswith(b"\n")


def met_in(run: RunDirectory) -> Met:
    history = read_journal(run.journal)
    if history.run is None:
        return "opening"
    if history.interrupted is not None:
        return "in a step"
    if history.outcome is None:
        return "between steps"
    return "after the grade" if read_grades(run) else "grading"
