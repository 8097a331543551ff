"""The files of one run, and the lock that keeps a second process out of it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import remove_half_written, sign_lock, signed_by


class RunDirectory:
    """The paths of a run.

    OUT/
      objects/                     contents by BLAKE3 hash, shared by all runs
      logs/                        Inspect's logs
      runs/TASK/TIER/AGENT-HASH8/MODEL/EPOCH/
        run.json                   what this run is (RunRecord), written first, never rewritten
        journal.jsonl              what happened, appended and never rewritten
        output.log                 what commands printed, in order
        grades.jsonl               one GradeRecord per line
        judgements.jsonl           one JudgeReport per line
        asked.jsonl                the tool model's replies to the agent's programs
        replies.jsonl              the tool model's replies while the run was graded
        outputs/                   the submission, copied out for grading
        work/                      the workspace, as the host sees it
        failure.txt                why the run has no grade; removed once it has one
        replay.json replay.html    only in a replay: the comparison with the original run
        sandbox.json               the sandbox's process, while it runs
        lock                       held by the process that works here; contains its pid
    """

    def __init__(self, out: Path, path: Path) -> None:
        self.out = out.absolute()
        self.path = self.out / path
        self.objects = self.out / "objects"
        self.run_json = self.path / "run.json"
        self.journal = self.path / "journal.jsonl"
        self.output_log = self.path / "output.log"
        self.grades = self.path / "grades.jsonl"
        self.judgements = self.path / "judgements.jsonl"
        self.asked = self.path / "asked.jsonl"
        self.replies = self.path / "replies.jsonl"
        self.outputs = self.path / "outputs"
        self.work = self.path / "work"
        self.lock = self.path / "lock"
        self.failure = self.path / "failure.txt"
        self.replay_json = self.path / "replay.json"
        self.replay_page = self.path / "replay.html"
        self.sandbox_json = self.path / "sandbox.json"

    @property
    def appended_files(self) -> tuple[Path, ...]:
        """All files of chained lines except for the journal; not every run has all of them."""
        return (self.grades, self.judgements, self.asked, self.replies)

    @property
    def shown_name(self) -> str:
        """The run in a few words, for people."""
        task, tier, agent, model, epoch = self.relative.parts[1:]
        with_model = "" if model == "none" else f" with {model}"
        return f"{task} ({tier}): {agent.rpartition('-')[0]}{with_model}, run {epoch}"

    @property
    def relative(self) -> Path:
        """The run's place below OUT, which stays right when OUT is moved."""
        return self.path.relative_to(self.out)

    def create(self) -> None:
        """Make the directories that a run needs; remove half-written files of a killed harness."""
        self.objects.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        whole = (self.run_json, self.journal, self.sandbox_json, self.replay_json, self.failure)
        for file in whole:
            remove_half_written(file)

    @property
    def at_work(self) -> int | None:
        """The process that signed the lock, if it is still in the kernel's list of locks."""
        if not self.lock.exists():
            return None
        signed, inode = self.lock.read_text("ascii", "replace").strip(), self.lock.stat().st_ino
        held = (line.split() for line in Path("/proc/locks").read_text("ascii").splitlines())
        if any(signed in words and f":{inode} " in f"{' '.join(words)} " for words in held):
            return int(signed)
        return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process out; a UsageError names the process that holds the lock."""
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{self.path} is being written by process {signed_by(handle)}; "
                    "wait for it to end, or choose another --out"
                ) from None
            sign_lock(handle)
            yield
        finally:
            os.close(handle)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"
