"""Remember the best submission so far, to submit it when a run is cut off.

A submission is a candidate when a step has changed it. Its score is the last `validation
METRIC=VALUE` that the step's script printed (see tasks/validation_lines.py). The task's metric says
whether higher or lower is better. METRIC must be the one that the task's starter prints, or else
the first one seen: other metrics cannot be compared. In tasks that are scored by speed it is
`seconds`. Runs of the task's sample command do not count. Where the submission is a program, which
other scripts measure, the step that prints the score need not be the step that changed it.

The best submission is the valid one with the best score; while none has a score, the latest valid
one. Only a submission that would be the best is checked for its format, outside of the run's time.

Under --protocol rebuild, what counts is the program, so every step that changed a file makes a
candidate, and of equal scores the later one is better. If only files beside the submission and
reproduce.sh have changed, the score is still that of the program before; the next one that is
printed decides whether the change was good. A candidate that Validate Submission has made again is
better than any other, and one beside its program is better than any without.
"""

import re
import shlex

from mlagentbench.environment.actions.execute import execute_script, python_repl
from mlagentbench.environment.actions.submission import SubmissionCheck, validate_submission
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action, Record, Step
from mlagentbench.runs.objects.snapshot_trees import Entry, entry_at
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.spec import REPRODUCE, Metric
from mlagentbench.tasks.task import Task
from mlagentbench.tasks.validation_lines import Validation, read_validations

SPEED = "seconds"
RUNS_SCRIPTS = (execute_script.name, python_repl.name)
MAX_REASON = 300
_PRINTED = re.compile(r"validation ([\w@ -]+)=")


def read_validation(text: str, metric: str | None) -> Validation | None:
    """The last score of that metric in a script's output; of any metric if it is None."""
    last = None
    for validation in read_validations(text):
        if metric is None or _folded(validation.metric) == _folded(metric):
            last = validation
    return last


def validation_metric(task: Task) -> str | None:
    """The METRIC in the validation lines of a task's starter."""
    if task.spec.kind == "timed":
        return SPEED
    for program in sorted(task.starter.rglob("*.py")):
        printed = _PRINTED.search(program.read_text(encoding="utf-8", errors="replace"))
        if printed is not None:
            return printed[1]
    return None


class Candidate(Record):
    """A submission as it was after a step."""

    step: Step
    validation: Validation | None
    has_program: bool = True
    """Whether the program that makes it again is there, if one is asked for."""
    is_made_again: bool | None = None
    """Whether Validate Submission could make it again; None if it was not asked."""

    def is_better(self, than: "Candidate", metric: Metric, *, or_equal: bool = False) -> bool:
        if self.has_program != than.has_program:
            return self.has_program
        if (self.is_made_again is False) != (than.is_made_again is False):
            return than.is_made_again is False
        scores = [one.validation and one.validation.value for one in (self, than)]
        if scores[0] == scores[1] and self.is_made_again != than.is_made_again:
            return bool(self.is_made_again)
        if self.validation is None or than.validation is None:
            return than.validation is None
        value, other = self.validation.value, than.validation.value
        return metric.is_better(value, other) or (or_equal and value == other)


class BestSubmission:
    """The best submission of a run; `note` is called for every step."""

    def __init__(self, environment: Environment) -> None:
        self.best: Candidate | None = None
        self.refusal = ""
        """Why the last candidate for the best submission is not valid."""
        self._environment = environment
        self._metric = validation_metric(environment.task)
        self._check = SubmissionCheck(
            environment.task,
            environment.python_env,
            call_task,
            environment.data,
            environment.workspace.public,
        )
        self._sure: Candidate | None = None
        """The best one whose score was printed by its own program."""
        self._made_again: Candidate | None = None
        """The best one that Validate Submission could make again."""
        self._last: tuple[Entry | None, Entry | None] = (None, None)
        """The submission, and the program that makes it again, after the last step."""
        self._snapshot = ""
        self._scores: dict[Entry, Validation] = {}
        self._faults: dict[Entry | None, str] = {}
        """Why each checked submission is invalid; empty if it is valid."""

    async def note(self, step: Step) -> None:
        """Check whether a step has made a new best submission."""
        spec = self._environment.task.spec
        validation = self.validation(step)
        store = self._environment.store
        found = entry_at(store, step.snapshot, spec.submission.path)
        rebuilds = self._environment.rebuilt_by is not None
        program = entry_at(store, step.snapshot, REPRODUCE) if rebuilds else None
        changed, self._last = (found, program) != self._last, (found, program)
        is_edited, self._snapshot = rebuilds and step.snapshot != self._snapshot, step.snapshot
        is_measured = validation is not None and (rebuilds or spec.kind in ("program", "timed"))
        made_again = _made_again(step) if rebuilds else None
        if found is None or self._is_sample_run(step.action):
            return
        if not (changed or is_edited or is_measured or made_again is not None):
            return
        if validation is not None:
            self._scores[found] = validation
            self.best = self._sure  # what was only edited since then is known now
        candidate = Candidate(
            step=step,
            validation=self._scores.get(found) if rebuilds else validation,
            has_program=not rebuilds or program is not None,
            is_made_again=made_again,
        )
        if made_again and not await self.fault(step):
            surest = self._made_again
            if surest is None or candidate.is_better(surest, spec.metric, or_equal=True):
                self._made_again = candidate
        elif made_again is False and self.best and self.best.step.snapshot == step.snapshot:
            self.best = self._sure = self._made_again
        best = self.best
        if best is not None and not candidate.is_better(best, spec.metric, or_equal=rebuilds):
            return
        self.refusal = await self.fault(step)
        if not self.refusal:
            self.best = candidate
            if changed or validation is not None or made_again is not None:
                self._sure = candidate

    def validation(self, step: Step) -> Validation | None:
        """The score that a step printed, if it is comparable."""
        if step.action.name not in RUNS_SCRIPTS or self._is_sample_run(step.action):
            return None
        validation = read_validation(step.observation.text, self._metric)
        if validation is not None:
            self._metric = validation.metric
        return validation

    def _is_sample_run(self, action: Action) -> bool:
        sample = self._environment.task.spec.commands.sample
        if sample is None or action.name != execute_script.name:
            return False
        _, script, *options = shlex.split(sample)
        given = action.arguments.get("arguments", "")
        words = given.split() if isinstance(given, str) else map(str, given)
        return set(options) <= set(words) and (
            bool(options) or action.arguments["script_name"] == script
        )

    async def fault(self, step: Step) -> str:
        """Why the submission after a step is invalid; empty if it is valid."""
        path = self._environment.task.spec.submission.path
        submission = entry_at(self._environment.store, step.snapshot, path)
        if submission not in self._faults:
            with self._environment.budget.halted():
                try:
                    await self._check.check_format(self._environment.store, step.snapshot)
                    self._faults[submission] = ""
                except InvalidSubmissionReported as invalid:
                    self._faults[submission] = str(invalid)[:MAX_REASON]
        return self._faults[submission]

    def status(self) -> str:
        """The best submission as agents are told."""
        if self.best is None:
            return f"No valid submission yet{f': {self.refusal}' if self.refusal else ''}."
        score = self.best.validation
        after = f"Best submission so far: after step {self.best.step.n}"
        if not self.best.has_program:
            after += f" (without {REPRODUCE}, so it counts for nothing)"
        elif self._environment.rebuilt_by is not None and not self.best.is_made_again:
            after += " (not validated)"
        return f"{after}, {score}." if score else f"{after}, valid, without a validation score."

    def submit(self) -> None:
        """Submit the best, if there is one; otherwise the run ends with the current workspace."""
        if self.best is not None:
            self._environment.submit_step(self.best.step)


def _made_again(step: Step) -> bool | None:
    if step.action.name != validate_submission.name:
        return None
    return step.observation.status == "ok"


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
