"""Try the tree agent's solutions in the workspace: write, run and score them."""

import math
from collections.abc import Mapping, Sequence

from mlagentbench.agents.best_submission import BestSubmission
from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.agents.scripted import execute_command
from mlagentbench.agents.tree_search.nodes import SAMPLE, Node, SolutionFile, SolutionLayout
from mlagentbench.environment.actions.execute import execute_script
from mlagentbench.environment.actions.files import write_file
from mlagentbench.environment.environment import Environment
from mlagentbench.records import Action, Observation, Step
from mlagentbench.runs.objects.snapshot_trees import Entry, entry_at
from mlagentbench.tasks.spec import REPRODUCE

SAMPLE_SHARE = 0.25
"""The share of a node's time for its run on a sample."""
MAX_OUTPUT = 4_000
"""Characters at the end of its output that a node keeps."""
MAX_ERROR = 300


class Workbench:
    """The workspace of a run, which has one solution at a time."""

    def __init__(self, environment: Environment, layout: SolutionLayout) -> None:
        self.run = ResumableRun(environment, "tree", asks_first=False)
        self.best = BestSubmission(environment)
        self._layout = layout
        self._environment = environment
        self._submission = environment.task.spec.submission.path
        self._in_place: dict[str, str] = {}
        self._last: Step | None = None

    async def try_starter(self, patience: float) -> Node:
        """Run the task's starter, as a node to compare with."""
        starter = self._environment.task.spec.commands.starter
        await self._write_all(self._changed(self._program(starter)))
        step = await self.execute(execute_command(starter), patience)
        validation = self.best.validation(step)
        return Node(
            n=0,
            kind="starter",
            idea="the starter as it is",
            output=_end(step.observation.text),
            error=_failure(step.observation),
            score=None if validation is None else validation.value,
            step=step.n,
        )

    async def try_out(self, node: Node, patience: float) -> Node:
        """Run a node's solution; returns the node with its result."""
        refused = await self.place(node.files)
        if refused is not None:
            return _with_result(node, refused, error=_failure(refused.observation))
        if self._layout.sample:
            step = await self.run_solution(SAMPLE, patience * SAMPLE_SHARE)
            if step.observation.status != "ok":
                return _with_result(node, step, error=f"{SAMPLE}: {_failure(step.observation)}")
        before = self.submission()
        step = await self.run_solution(self._layout.arguments, patience)
        error = await self.fault(step, before)
        validation = self.best.validation(step)
        if not error and validation is None:
            error = "no line `validation METRIC=VALUE` with the right METRIC was printed"
        score = None if validation is None else validation.value
        return _with_result(node, step, error=error, score=score)

    async def place(self, files: Sequence[SolutionFile], arguments: str = "") -> Step | None:
        """Write the missing files; returns the step that failed, if one did.

        With the program that makes the submission again, where one is asked for: it runs the
        solution with these arguments.
        """
        return await self._write_all(self.missing(files, arguments))

    async def _write_all(self, files: Sequence[SolutionFile]) -> Step | None:
        for file in files:
            arguments = {"file_name": file.name, "content": file.text}
            step = await self.execute(Action(name=write_file.name, arguments=arguments))
            if step.observation.status != "ok":
                return step
            self._in_place[file.name] = file.text
        return None

    def missing(self, files: Sequence[SolutionFile], arguments: str = "") -> list[SolutionFile]:
        """The files to write, including the starter's files that other solutions have changed."""
        wanted = {name: self._original(name) for name in self._in_place}
        wanted |= {file.name: file.text for file in files}
        return self._changed(wanted | self._program(f"python {self._layout.run} {arguments}"))

    def _program(self, command: str) -> dict[str, str | None]:
        """The file that makes a solution's submission again, by name; none if none is asked for."""
        if not self.leaves_program:
            return {}
        return {REPRODUCE: f"set -e\n{command.strip()}\n"}

    @property
    def leaves_program(self) -> bool:
        return self._environment.rebuilt_by is not None and self._layout.makes_submission

    def _changed(self, wanted: Mapping[str, str | None]) -> list[SolutionFile]:
        return [
            SolutionFile(name=name, text=text)
            for name, text in wanted.items()
            if text is not None and self._in_place.get(name) != text
        ]

    def _original(self, name: str) -> str | None:
        path = self._environment.task.starter / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    async def run_solution(self, arguments: str, patience: float) -> Step:
        given = {"script_name": self._layout.run, "arguments": arguments}
        return await self.execute(Action(name=execute_script.name, arguments=given), patience)

    async def fault(self, step: Step, before: Entry | None) -> str:
        """Why a run made no new valid submission; empty if it did."""
        failure = _failure(step.observation)
        if failure:
            return failure
        if self._layout.makes_submission and self.submission() == before:
            return f"{self._submission} was not written, or is the same as before"
        invalid = await self.best.fault(step)
        return f"{self._submission} is not valid: {invalid}" if invalid else ""

    async def execute(self, action: Action, patience: float = math.inf) -> Step:
        """Execute one step, and note its submission."""
        step = await self.run.execute(action, patience=patience)
        await self.best.note(step)
        self._last = step
        return step

    def submission(self) -> Entry | None:
        if self._last is None:
            return None
        return entry_at(self._environment.store, self._last.snapshot, self._submission)


def _with_result(node: Node, step: Step, error: str, score: float | None = None) -> Node:
    output = _end(step.observation.text)
    return node.model_copy(
        update={"output": output, "error": error, "score": score, "step": step.n}
    )


def _failure(observation: Observation) -> str:
    """Why a step failed, in one line; empty if it did not."""
    if observation.status == "ok":
        return ""
    lines = [line.strip() for line in observation.text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("[")]
    if observation.status == "limit" or not said:
        said = [observation.status, *(line.strip("[]") for line in lines)]
    return said[-1][:MAX_ERROR]


def _end(text: str) -> str:
    return text if len(text) <= MAX_OUTPUT else f"[...]\n{text[-MAX_OUTPUT:]}"
