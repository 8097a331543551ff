"""The files of one run, and the lease of the process that writes to them."""

import time
from pathlib import Path

from mlagentbench.fs import remove_half_written, remove_tree
from mlagentbench.runs.hash_chain import newest_generation
from mlagentbench.runs.journal import EventLine, Journal
from mlagentbench.runs.lease import FILE as LEASE
from mlagentbench.runs.lease import (
    Holder,
    Lease,
    LeaseWatch,
    OnWait,
    Pause,
    Releasable,
    await_release,
    current_holder,
    take_lease,
)


class RunDirectory:
    """The paths of a run.

    OUT/
      objects/                     contents by BLAKE3 hash, shared by all runs
      logs/                        Inspect's logs
      fresh-draws.key              what the seeds of fresh draws follow from (fresh_key.py)
      runs/TASK/TIER/AGENT-HASH8/MODEL/EPOCH/
        run.json                   what this run is (RunRecord), written first, never rewritten
        journal.jsonl              what happened, appended and never rewritten
        output.log                 what commands printed, in order
        grades.jsonl               one GradeRecord per line
        rebuilds.jsonl             what became of the submission on fresh draws (rebuilds.py)
        judgements.jsonl           one JudgeReport per line
        asked.jsonl                the tool model's replies to the agent's programs
        replies.jsonl              the tool model's replies while the run was graded
        outputs/                   the submission, copied out for grading
        work/                      the workspace, as the host sees it
        failure.txt                why the run has no grade; removed once it has one
        replay.json replay.html    only in a replay: the comparison with the original run
        sandbox.json               the sandbox's process, while it runs
        lease-000001               the process that works here, or worked here last (lease.py)

    A process that takes over from one that may still be there uses work-N/ and outputs-N/ instead,
    N being the number of its lease.
    """

    lease: Lease | None = None
    """Set in the HeldRun that `hold()` returns; without it, a run is only read."""

    def __init__(self, out: Path, path: Path) -> None:
        self.out = out.absolute()
        self.path = self.out / path
        self.objects = self.out / "objects"
        self.run_json = self.path / "run.json"
        self.journal = self.path / "journal.jsonl"
        self.output_log = self.path / "output.log"
        self.grades = self.path / "grades.jsonl"
        self.rebuilds = self.path / "rebuilds.jsonl"
        self.judgements = self.path / "judgements.jsonl"
        self.asked = self.path / "asked.jsonl"
        self.replies = self.path / "replies.jsonl"
        self.failure = self.path / "failure.txt"
        self.replay_json = self.path / "replay.json"
        self.replay_page = self.path / "replay.html"
        self.sandbox_json = self.path / "sandbox.json"

    @property
    def appended_files(self) -> tuple[Path, ...]:
        """All files of chained lines except for the journal; not every run has all of them."""
        return (self.grades, self.rebuilds, self.judgements, self.asked, self.replies)

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
    def work(self) -> Path:
        return self._place("work")

    @property
    def outputs(self) -> Path:
        return self._place("outputs")

    def _place(self, name: str) -> Path:
        """The newest directory of that name."""
        return max(self.path.glob(f"{name}-[0-9]*"), default=self.path / name)

    @property
    def holder(self) -> Holder | None:
        """The process that holds the run; on another machine it may have ended meanwhile."""
        holder = current_holder(self.path)
        return None if holder is None or holder.is_gone else holder

    def hold(
        self,
        on_wait: OnWait | None = None,
        pause: Pause = time.sleep,
        watch: LeaseWatch | None = None,
    ) -> "HeldRun":
        """Take the run's lease; RunHeld names the process that has it.

        Waits for `gc` to end and, without a `watch`, as long as it takes to see that a silent
        holder is alive.
        """
        above = newest_generation((self.journal, *self.appended_files))
        lease = take_lease(self.path, above, on_wait, pause, watch=watch)
        try:
            await_release(self.objects, on_wait, pause)
            return HeldRun(self, lease)
        except BaseException:
            lease.release()
            raise

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"


class HeldRun(RunDirectory, Releasable):
    """A run that this process may write to, until it is released."""

    lease: Lease

    def __init__(self, run: RunDirectory, lease: Lease) -> None:
        super().__init__(run.out, run.relative)
        self.lease = lease
        self._places = {name: super(HeldRun, self)._place(name) for name in ("work", "outputs")}
        if lease.followed_silence:
            # The holder before may still use the old ones, and write one line without looking.
            number = f"{lease.generation:06}"
            self._places = {name: self.path / f"{name}-{number}" for name in self._places}
            self._fence()

    def _place(self, name: str) -> Path:
        return self._places[name]

    def _fence(self) -> None:
        """Write the line after which readers ignore what the holder before may still write."""
        if not self.journal.exists():
            return
        journal = Journal(self.journal, self.appended_files, self.lease)
        if journal.lines_before:
            clock = journal.lines_before[-1].clock
            detail = f"lease {self.lease.generation}: the process before had fallen silent"
            journal.append(EventLine, clock, event="new holder", detail=detail)
        journal.close()

    def clear(self) -> None:
        """Remove all files of the run, except for its lease."""
        for entry in self.path.iterdir():
            if LEASE.fullmatch(entry.name) is None:
                remove_tree(entry)

    def release(self) -> None:
        self.lease.release()
