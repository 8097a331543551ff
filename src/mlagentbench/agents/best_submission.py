"""Keeping the best submission so far, to hand it in when a run is cut off.

A submission is a candidate when a step has changed it. Its score is what the step's script printed
last as

    validation METRIC=VALUE

and better is what the task's metric calls better. Figures of other metrics cannot be compared, so
METRIC must be the one that the task's starter prints, or the first one seen where it prints none.
In tasks that are scored by speed it is `seconds`: what their starters print is a check. What a run
of the task's sample command makes does not count. Where the submission is a program, which other
scripts measure, the step that prints the score need not be the step that changed it.

Best is the best score among the valid submissions; while none has a score, the latest valid one.
Only what would be the best is checked for its format, with the task's own function and outside of
the run's time.
"""

import math
import re
import shlex

from mlagentbench.environment.actions.execute import execute_script, python_repl
from mlagentbench.environment.actions.submission import SubmissionCheck
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action, Record, Step
from mlagentbench.runs.trees import Entry, entry_at
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.contract import InvalidSubmissionReported
from mlagentbench.tasks.spec import Metric
from mlagentbench.tasks.task import Task

SPEED = "seconds"
RUNS_SCRIPTS = (execute_script.name, python_repl.name)
MAX_REASON = 300
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_LINE = re.compile(
    rf"^[ \t]*validation[ \t]+([^=\n]{{1,80}})=[ \t]*({_NUMBER})(?=[\s,;)]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_PRINTED = re.compile(r"validation ([\w@ -]+)=")


class Validation(Record):
    """A score on data that the agent held out itself."""

    metric: str
    value: float

    def __str__(self) -> str:
        return f"validation {self.metric}={self.value:g}"


def read_validation(text: str, metric: str | None) -> Validation | None:
    """The last score of that metric in what a script printed, or of any if it is `None`."""
    for name, number in reversed(_LINE.findall(text)):
        is_meant = metric is None or _folded(name) == _folded(metric)
        if is_meant and math.isfinite(value := float(number)):
            return Validation(metric=name.strip(), value=value)
    return None


def validation_metric(task: Task) -> str | None:
    """The METRIC of a task's validation lines, as its starter prints them."""
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

    def is_better(self, than: "Candidate", metric: Metric) -> bool:
        if self.validation is None or than.validation is None:
            return than.validation is None
        return metric.is_better(self.validation.value, than.validation.value)


class BestSubmission:
    """The best submission of a run; it is told of every step."""

    def __init__(self, environment: Environment) -> None:
        self.best: Candidate | None = None
        self.refusal = ""
        """Why the last submission that might have been the best is not valid."""
        self._environment = environment
        self._metric = validation_metric(environment.task)
        self._check = SubmissionCheck(
            environment.task, environment.python_env, call_task, environment.workspace.public
        )
        self._last: Entry | None = None
        self._faults: dict[Entry | None, str] = {}
        """Why each submission that was checked is invalid; empty when it is not."""

    async def note(self, step: Step) -> None:
        """Look at what a step has made of the submission."""
        spec = self._environment.task.spec
        validation = self.validation(step)
        found = entry_at(self._environment.store, step.snapshot, spec.submission.path)
        changed, self._last = found != self._last, found
        is_program = spec.kind in ("program", "timed")
        if found is None or self._is_sample_run(step.action):
            return
        if not changed and not (is_program and validation is not None):
            return
        candidate = Candidate(step=step, validation=validation)
        if self.best is not None and not candidate.is_better(self.best, spec.metric):
            return
        self.refusal = await self.fault(step)
        if not self.refusal:
            self.best = candidate

    def validation(self, step: Step) -> Validation | None:
        """The score that a step printed, if it can be compared with the others."""
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
        """Why the submission after a step is not valid; empty when it is."""
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

    def in_words(self) -> str:
        """What an agent should know of it."""
        if self.best is None:
            return f"No valid submission yet{f': {self.refusal}' if self.refusal else ''}."
        score = self.best.validation
        after = f"Best submission so far: after step {self.best.step.n}"
        return f"{after}, {score}." if score else f"{after}, valid, without a validation score."

    def hand_in(self) -> None:
        """Let the run end with the best, if there is one; else with the workspace as it stands."""
        if self.best is not None:
            self._environment.hand_in(self.best.step)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
