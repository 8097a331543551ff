"""The `tree` agent: a search over complete solutions instead of one long conversation.

A node is a solution: the files of one reply on top of those of its parent node, and the result of
running them. The agent drafts some, fixes failures, then improves the best. The model sees what the
next node needs, not the earlier conversation. The last part of the budget is for fitting the best
solution to all data. Everything is done in steps, so the journal has it all.
"""

import math

from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import Field

from mlagentbench.agents.best_submission import validation_metric
from mlagentbench.agents.registry import make_settings
from mlagentbench.agents.runner import UNUSABLE_REPLY, run_agent
from mlagentbench.agents.status_text import remaining_budget_text
from mlagentbench.agents.tree_search.nodes import (
    FINAL,
    Node,
    NodeKind,
    SolutionFile,
    Tree,
    layout_of,
)
from mlagentbench.agents.tree_search.policy import POLICIES, SearchLimits
from mlagentbench.agents.tree_search.questions import Questions, SearchState
from mlagentbench.agents.tree_search.workbench import Workbench
from mlagentbench.environment.actions.execute import final_answer
from mlagentbench.environment.actions.submission import validate_submission
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_context import current_environment
from mlagentbench.limit_table import BudgetLimits, duration
from mlagentbench.records import Action, Observation, Record, Step

MIN_RUN_SECONDS = 10.0
"""Every run of a solution gets at least this time."""
FINAL_FIT_SHARE = 0.9
"""The share of the remaining time for the final fit; the rest is for checking and submitting."""


class TreeSettings(Record):
    """The settings of the agent; `tree` describes them."""

    drafts: int = Field(default=3, ge=1)
    debug_depth: int = Field(default=3, ge=0)
    policy: str = Field(default="greedy", pattern="|".join(POLICIES))
    node_share: float = Field(default=0.25, gt=0, le=1)
    final_share: float = Field(default=0.2, ge=0, lt=1)
    ensemble: bool = False


@solver
def tree(
    drafts: int = 3,
    debug_depth: int = 3,
    policy: str = "greedy",
    node_share: float = 0.25,
    final_share: float = 0.2,
    ensemble: bool = False,
) -> Solver:
    """Search over complete solutions: draft, fix and improve them, and submit the best.

    Args:
        drafts: The number of solutions written from scratch before the best are improved.
        debug_depth: The number of attempts in a row to fix a failing solution.
        policy: What to improve next: greedy (always the best) or uct (also nodes tried little).
        node_share: The share of the remaining search time that one run of a solution may take.
        final_share: The share of the time for a final fit of the best on all data; 0 for none.
        ensemble: Whether to try a blend of the best solutions at the end of the search.
    """
    settings = make_settings("tree", TreeSettings, locals())

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        environment = current_environment()
        agent = TreeAgent(environment, settings)
        await run_agent(environment, agent.act, agent.at_end)
        return state

    return solve


class TreeAgent:
    """One run of the agent."""

    def __init__(self, environment: Environment, settings: TreeSettings | None = None) -> None:
        self.tree = Tree()
        self._settings = settings or TreeSettings()
        self._command_time = environment.task.spec.limits.command_time
        self._metric = environment.task.spec.metric
        self._shown_metric = validation_metric(environment.task) or "METRIC"
        self._layout = layout_of(environment.task.spec, environment.workspace.protected)
        self._bench = Workbench(environment, self._layout)
        self._questions = Questions(self._layout, self._bench.run)
        self._final: Step | None = None

    async def act(self, _environment: Environment) -> None:
        """Search while the budget lasts, then submit."""
        settings = self._settings
        policy = POLICIES[settings.policy]
        limits = SearchLimits(drafts=settings.drafts, debug_depth=settings.debug_depth)
        self.tree = self.tree.with_node(await self._bench.try_starter(self._patience()))
        while self._can_try(nodes=2 if settings.ensemble else 1):
            choice = policy(self.tree, self._metric, limits)
            await self._grow(choice.kind, choice.parent)
        if settings.ensemble and len(self.tree.good) > 1 and self._can_try(nodes=1):
            await self._grow("ensemble", None)
        await self._submit()

    def at_end(self, environment: Environment) -> None:
        """Submit the final fit, or else the best submission."""
        if self._final is not None:
            environment.submit_step(self._final)
        else:
            self._bench.best.submit()

    # Searching

    async def _grow(self, kind: NodeKind, parent: Node | None) -> None:
        """Ask for a solution, try it, and add it to the tree."""
        patience = self._patience()
        state = SearchState(
            tree=self.tree,
            best=tuple(self.tree.ranked(self._metric)),
            metric=self._shown_metric,
            left=remaining_budget_text(self._bench.run.limits, self._bench.run.used),
            limit=duration(min(patience, self._command_time)),
        )
        proposal = await self._questions.propose(kind, parent, state)
        made_from = None if parent is None else parent.n
        node = Node(n=len(self.tree.nodes), kind=kind, parent=made_from)
        if proposal is None:
            error = "the model's replies had no code"
            await self._bench.run.note_step(UNUSABLE_REPLY, Observation(text=error, status="error"))
            self.tree = self.tree.with_node(node.model_copy(update={"error": error}))
            return
        files = self._together(parent, proposal.files)
        node = node.model_copy(update={"idea": proposal.idea, "files": files})
        self.tree = self.tree.with_node(await self._bench.try_out(node, patience))

    def _together(
        self, parent: Node | None, files: tuple[SolutionFile, ...]
    ) -> tuple[SolutionFile, ...]:
        """A reply's files on top of its parent's, with the fixed file of the first good node."""
        layers = [*(parent.files if parent else ()), *files]
        if self._layout.fixed_file is not None and self.tree.good:
            first = self.tree.good[0].files
            layers += [file for file in first if file.name == self._layout.fixed_file]
        return tuple({file.name: file for file in layers}.values())

    def _left(self) -> BudgetLimits:
        return self._bench.run.limits.left(self._bench.run.used)

    def _reserve(self) -> float:
        """The seconds reserved for the final fit, once there is a good node."""
        return (
            (self._bench.run.limits.get("time") or 0.0) * self._settings.final_share
            if self.tree.good
            else 0.0
        )

    def _patience(self) -> float:
        left = self._left().get("time")
        if left is None:
            return math.inf
        return max(MIN_RUN_SECONDS, (left - self._reserve()) * self._settings.node_share)

    def _can_try(self, nodes: int) -> bool:
        """Whether the budget suffices to try so many solutions and then submit."""
        left = self._left()
        steps, seconds = left.get("steps"), left.get("time")
        if steps is not None and steps < nodes * self._trial_steps() + self._last_steps():
            return False
        if seconds is not None and seconds <= self._reserve():
            return False
        return self._questions.can_be_afforded(left)

    def _trial_steps(self) -> int:
        """The steps to try a solution: write it, run it on a sample, run it."""
        fixed = self._layout.fixed_file is not None and not self.tree.good
        files = 1 + int(fixed) + int(self._bench.leaves_program)
        return files + int(self._layout.sample) + 1

    def _last_steps(self) -> int:
        """The steps to restore the best, fit it, check it and submit."""
        if not self.tree.good or self._settings.final_share == 0:
            return 1
        files = max(len(node.files) for node in self.tree.good) + int(self._bench.leaves_program)
        return files + int(self._layout.makes_submission) + 2

    # Submitting

    async def _submit(self) -> None:
        ranked = self.tree.ranked(self._metric)
        best = ranked[0] if ranked else None
        if best is None or not await self._fit_final(best):
            self._bench.best.submit()
        elif self._has_steps(2):
            step = await self._bench.execute(Action(name=validate_submission.name))
            if self._bench.leaves_program and step.observation.status != "ok":
                self._final = None
                self._bench.best.submit()
        said = "No solution worked." if best is None else best.idea or best.kind
        await self._bench.execute(Action(name=final_answer.name, arguments={"final_answer": said}))

    async def _fit_final(self, node: Node) -> bool:
        """Restore a node's solution and fit it to all data, if that is possible and better."""
        bench, layout = self._bench, self._layout
        is_best = bench.best.best is not None and bench.best.best.step.n == node.step
        arguments = FINAL if layout.makes_submission else ""
        steps = len(bench.missing(node.files, arguments)) + int(layout.makes_submission) + 1
        if not is_best or self._settings.final_share == 0 or not self._has_steps(steps):
            return False
        if await bench.place(node.files, arguments) is not None:
            return False
        if not layout.makes_submission:
            return True
        before = bench.submission()
        left = self._left().get("time")
        share = FINAL_FIT_SHARE / (3 if bench.leaves_program else 1)  # it is rehearsed twice
        patience = math.inf if left is None else left * share
        step = await bench.run_solution(FINAL, patience)
        if await bench.fault(step, before):
            return False
        self._final = step
        return True

    def _has_steps(self, steps: int) -> bool:
        left = self._left().get("steps")
        return left is None or left >= steps
