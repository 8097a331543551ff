"""In what a run that was killed and resumed is not what it would have been without that."""

from collections import Counter
from collections.abc import Iterator

from chains import faults
from killing import Harness

from mlagentbench.records import Step
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History, ReplyLine, read_journal, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import read_grades


def differences(undisturbed: Harness, killed: Harness) -> list[str]:
    """What is wrong with a finished run, or other than in the run that nobody disturbed."""
    return [
        *run_differences(undisturbed.run, killed.run),
        *(["answers were lost"] if killed.lost_answers > len(killed.kills) else []),
        *(f"{name} says nothing of the interruption before it" for name in killed.untold),
    ]


def run_differences(one: RunDirectory, other: RunDirectory) -> list[str]:
    """What is wrong with the directory of a finished run, or other than in the undisturbed one."""
    then = read_journal(one.journal, ObjectStore(one.objects))
    now = read_journal(other.journal, ObjectStore(other.objects))
    return [
        *faults(other),
        *_faults_of_the_journal(other, now),
        *_other_steps(then, now),
        *_other_replies(then, now),
        *_other_grades(one, other),
        *(f"{name} was left behind" for name in _leftovers(other)),
    ]


def _faults_of_the_journal(run: RunDirectory, history: History) -> Iterator[str]:
    lines = read_lines(run.journal)
    steps = list(range(1, len(history.steps) + 1))
    if not run.journal.read_bytes().endswith(b"\n"):
        yield "the journal's last line is torn"
    if [line.n for line in lines] != list(range(len(lines))):
        yield "the journal's lines are not numbered one by one"
    for kind in ("begin", "end"):
        if (found := [line.step for line in lines if line.kind == kind]) != steps:
            yield f"the steps that {kind} are {found}"
    for kind in ("run", "outcome"):
        if (count := sum(line.kind == kind for line in lines)) != 1:
            yield f"{count} lines of the kind {kind}"
    used = history.usage
    if used.steps != len(steps):
        yield f"{used.steps} steps are counted of {len(steps)}"
    if used.input_tokens != sum(reply.input_tokens for reply in history.replies):
        yield f"{used.input_tokens} input tokens are counted"


def _other_steps(then: History, now: History) -> Iterator[str]:
    done = [step for step in now.steps if not _is_interrupted(step)]
    if len(done) != len(then.steps):
        yield f"{len(done)} steps were done, not {len(then.steps)}"
    for old, new in zip(then.steps, done, strict=False):
        for what in ("action", "observation", "snapshot"):
            before, after = getattr(old, what), getattr(new, what)
            if before != after:
                yield f"step {new.n} has another {what}: {before} before, {after} now"
    workspace = None if now.run is None else now.run.snapshot
    for step in now.steps:
        if _is_interrupted(step) and step.snapshot != workspace:
            yield f"the interrupted step {step.n} changed the workspace"
        workspace = step.snapshot
    if (then.outcome, then.snapshot) != (now.outcome, now.snapshot):
        yield f"it ended as {now.outcome} with {now.snapshot}"


def _other_replies(then: History, now: History) -> Iterator[str]:
    """A step and the interrupted ones before it have the replies that it would have had.

    What was answered for an interrupted step is not asked again, unless it was its own action.
    """
    skipped = 0
    so_far: Counter[tuple[str, str]] = Counter()
    for step in now.steps:
        old, new = _said(then, step.n - skipped), _said(now, step.n)
        so_far |= new
        if new - old:
            yield f"to step {step.n} belong more replies: {new - old}"
        if _is_interrupted(step):
            skipped += 1
        else:
            if so_far != old:
                yield f"to step {step.n} belong the replies {so_far}, not {old}"
            so_far.clear()
    # Prompts with a window of steps are equal when the same step was interrupted again and again.
    asked = Counter((line.step, line.prompt_hash) for line in now.replies if line.role == "main")
    if max(asked.values(), default=1) > 1:
        yield f"asked more than once: {asked.most_common(1)}"


def _said(history: History, step: int) -> Counter[tuple[str, str]]:
    return Counter(_shown(line) for line in history.replies if line.step == step)


def _shown(line: ReplyLine) -> tuple[str, str]:
    calls = line.message.get("tool_calls", []) if isinstance(line.message, dict) else []
    done = [(call["function"], call["arguments"]) for call in calls]
    return line.role, f"{line.reply} {done}"


def _is_interrupted(step: Step) -> bool:
    return step.observation.status == "interrupted"


def _other_grades(one: RunDirectory, other: RunDirectory) -> Iterator[str]:
    [old], grades = read_grades(one), read_grades(other)
    if len(grades) != 1:
        yield f"there are {len(grades)} grades"
    yield from (
        f"the grade is {new.score} ({new.reason}), not {old.score} ({old.reason})"
        for new in grades
        if (new.score, new.valid, new.success) != (old.score, old.valid, old.success)
    )


def _leftovers(run: RunDirectory) -> Iterator[str]:
    """What is half written, or of a sandbox that is gone."""
    yield from (path.name for path in run.path.glob(".*"))
    yield from (path.name for path in (run.sandbox_json, run.failure) if path.exists())
    yield from (f"new/{path.name}" for path in (run.objects / "new").glob("*"))
