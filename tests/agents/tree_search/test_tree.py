"""The tree agent on a real run: what it tries, what it shows, what it hands in, and going on."""

from collections.abc import Sequence
from typing import Any

import pytest
from inspect_ai.model import ChatMessage
from scripted_model import Said, scripted_by
from small_task import OpenRun
from task_folders import write_files

from mlagentbench.agents.registry import find_agent
from mlagentbench.agents.runner import run_agent
from mlagentbench.agents.tree_search import search as tree_module
from mlagentbench.agents.tree_search.search import TreeAgent, TreeSettings
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.question import prompt_text
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.tasks.task import Task

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOLUTION = """
import sys
guess = {guess} + 0.5 * ("--final" in sys.argv) + 0.25 * ("--sample" in sys.argv)
{extra}
open("submission.csv", "w").write(f"id,y\\n5,{{guess}}\\n6,{{guess}}\\n")
print("{said}")
"""


def solution(idea: str, guess: int, score: float | None = None, extra: str = "") -> str:
    """A reply with a script that predicts `guess`, and half more in the final fit."""
    said = "no score" if score is None else f"validation MAE={score}"
    script = SOLUTION.format(guess=guess, extra=extra, said=said)
    return f"Idea: {idea}\n```python solution.py\n{script}```"


CRASH = "raise ValueError('what a pity')"


class Listener:
    """A model that says what was written down, and remembers what it was asked."""

    def __init__(self, *replies: Said) -> None:
        self.prompts: list[list[ChatMessage]] = []
        left = iter(replies)

        def answer(messages: Sequence[ChatMessage], *_: object) -> Said:
            self.prompts.append(list(messages))
            return next(left)

        self.model = scripted_by(answer)

    def question(self, number: int) -> str:
        return self.prompts[number][1].text


async def act(environment: Environment, **settings: Any) -> TreeAgent:
    agent = TreeAgent(environment, TreeSettings.model_validate({"drafts": 2, **settings}))
    await run_agent(environment, agent.act, agent.at_end)
    return agent


def outcome(environment: Environment) -> str:
    return "" if environment.outcome is None else environment.outcome.kind


def submission(environment: Environment, name: str = "submission.csv") -> str:
    snapshot = read_journal(environment.run.journal).snapshot
    assert snapshot is not None
    entry = entry_at(environment.store, snapshot, name)
    return "" if entry is None else environment.store.read(entry.value).decode()


SEARCH = (
    solution("a mean", 1, 0.9),
    solution("a forest", 2, extra=CRASH),
    solution("a forest, mended", 2, 0.5),
    solution("a deeper forest", 3, 0.2),
    solution("a much deeper forest", 4, 0.4),
)


async def test_a_search_from_drafts_to_the_final_fit(open_environment: OpenRun) -> None:
    model = Listener(*SEARCH)
    async with open_environment(
        BudgetLimits(steps=15), models={"main": model.model}
    ) as environment:
        agent = await act(environment)
        assert outcome(environment) == "submitted"
        assert [(node.kind, node.parent, node.score) for node in agent.tree.nodes] == [
            ("starter", None, None),
            ("draft", None, 0.9),
            ("draft", None, None),
            ("debug", 2, 0.5),
            ("improve", 3, 0.2),
            ("improve", 4, 0.4),
        ]
        last = [step.action.name for step in environment.steps[-4:]]
        assert last == ["Write File", "Execute Script", "Validate Submission", "Final Answer"]
        assert environment.steps[-3].action.arguments["arguments"] == "--final"
        assert submission(environment) == "id,y\n5,3.5\n6,3.5\n", "the best, fitted to all data"
    assert len({prompt[0].text for prompt in model.prompts}) == 1, "one beginning for all"
    assert "train.csv" in model.prompts[0][0].text
    second = model.question(1)
    assert "- a mean: validation METRIC=0.9" in second
    assert "guess" not in second, "ideas and results, not code"
    mending = model.question(2)
    assert "guess = 2" in mending
    assert "ValueError: what a pity" in mending
    assert "guess = 1" not in mending
    assert "a forest, mended" in model.question(3)
    assert "guess = 2" in model.question(3)
    assert "nothing yet" in model.question(3)


async def test_an_improvement_is_told_its_siblings_and_a_mending_its_ancestors(
    open_environment: OpenRun,
) -> None:
    model = Listener(
        solution("first", 1, 0.1),
        solution("worse", 2, 0.8),
        solution("failing", 3, extra=CRASH),
        solution("failing still", 4, extra="1 / 0"),
        solution("another", 5, 0.7),
    )
    async with open_environment(
        BudgetLimits(steps=15), models={"main": model.model}
    ) as environment:
        await act(environment, drafts=1, debug_depth=1)
    assert "- worse: validation METRIC=0.8" in model.question(2)
    assert "guess = 2" not in model.question(2)
    assert "what a pity" in model.question(3)
    assert "guess = 1" not in model.question(3), "the good one it was made from is not an attempt"
    again = model.question(4)
    assert "- failing: failed: ValueError: what a pity" in again
    assert "This solution is to be improved" in again, "mended once, then given up"
    assert "guess = 1" in again


async def test_every_attempt_since_the_idea_was_new_is_shown(open_environment: OpenRun) -> None:
    model = Listener(
        solution("one", 1, extra=CRASH),
        solution("two", 2, extra="1 / 0"),
        solution("three", 3, extra="import nothing_of_this_name"),
        solution("four", 4, 0.1),
    )
    async with open_environment(
        BudgetLimits(steps=10), models={"main": model.model}
    ) as environment:
        await act(environment, drafts=1, debug_depth=3, final_share=0)
        assert submission(environment) == "id,y\n5,4.0\n6,4.0\n"
    assert model.question(3).index("what a pity") < model.question(3).index("ZeroDivisionError")
    assert "nothing_of_this_name" in model.question(3)


async def test_a_solution_that_takes_too_long_is_stopped(
    open_environment: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "MIN_RUN_SECONDS", 1.0)
    slow = solution("slow", 1, 0.1, extra="import time; time.sleep(60)")
    model = Listener(slow, solution("faster", 2, 0.2))
    async with open_environment(
        BudgetLimits(steps=8, time=100.0), models={"main": model.model}
    ) as environment:
        agent = await act(environment, drafts=1, node_share=0.01)
        assert agent.tree.nodes[1].score is None
        assert submission(environment) == "id,y\n5,2.5\n6,2.5\n"
    assert "A run may take 1 s." in model.question(1)
    assert "ended by the limit on wall time (1 s)" in model.question(1)


async def test_the_best_is_handed_in_when_the_budget_ends_in_the_middle(
    open_environment: OpenRun,
) -> None:
    model = Listener(solution("good", 1, 0.1), solution("bad", 2, 0.9), "well", "well", "well")
    async with open_environment(
        BudgetLimits(tokens=65), models={"main": model.model}
    ) as environment:
        await act(environment)
        assert outcome(environment) == "tokens"
        assert submission(environment) == "id,y\n5,1.0\n6,1.0\n"


async def test_replies_without_code_are_asked_again_and_then_a_failed_node(
    open_environment: OpenRun,
) -> None:
    model = Listener("Hm.", "", "I would use a forest.", "Hm.", solution("at last", 1, 0.1))
    async with open_environment(BudgetLimits(steps=7), models={"main": model.model}) as environment:
        agent = await act(environment, drafts=1)
        names = [step.action.name for step in environment.steps]
        assert names[1:3] == ["Unusable Reply", "Write File"]
        assert [bool(node.error) for node in agent.tree.nodes] == [False, True, False]
    assert "no complete code block" in model.prompts[1][-1].text
    assert [len(prompt) for prompt in model.prompts] == [2, 4, 6, 2, 4]


@pytest.mark.parametrize(
    ("reply", "error", "handed_in"),
    [
        pytest.param(solution("silent", 1), "no line `validation", "1.0", id="no score"),
        pytest.param(solution("o", 1, 0.1, "guess = 'o'"), "is not valid: ", "2.5", id="invalid"),
        pytest.param("```\nprint('validation MAE=1')\n```", "was not written", "2.5", id="nothing"),
        pytest.param("```python fixed.py\nx = 1\n```", "is read-only", "2.5", id="refused"),
    ],
)
async def test_what_is_no_solution_and_then_the_latest_valid_submission_is_handed_in(
    open_environment: OpenRun, reply: str, error: str, handed_in: str
) -> None:
    model = Listener(reply)
    async with open_environment(BudgetLimits(steps=4), models={"main": model.model}) as environment:
        agent = await act(environment)
        assert error in agent.tree.nodes[1].error
        assert outcome(environment) == "submitted"
        assert submission(environment) == f"id,y\n5,{handed_in}\n6,{handed_in}\n"


async def test_a_final_fit_that_fails_leaves_the_best_as_it_was(open_environment: OpenRun) -> None:
    fragile = solution("fragile", 1, 0.1, extra="assert '--final' not in sys.argv")
    async with open_environment(
        BudgetLimits(steps=6), models={"main": Listener(fragile).model}
    ) as environment:
        await act(environment)
        assert environment.steps[-2].observation.status == "error"
        assert outcome(environment) == "submitted"
        assert submission(environment) == "id,y\n5,1.0\n6,1.0\n"


async def test_an_ensemble_of_the_best(open_environment: OpenRun) -> None:
    replies = [solution("one", 1, 0.3), solution("two", 2, 0.2), solution("blend", 3, 0.1)]
    model = Listener(*replies)
    async with open_environment(
        BudgetLimits(steps=11), models={"main": model.model}
    ) as environment:
        agent = await act(environment, ensemble=True)
        assert [node.kind for node in agent.tree.nodes][-1] == "ensemble"
        assert submission(environment) == "id,y\n5,3.5\n6,3.5\n"
    shown = model.question(2)
    assert shown.index("guess = 2") < shown.index("guess = 1"), "the better one first"


async def test_where_the_task_has_a_sample_it_is_run_first(
    open_environment: OpenRun, task: Task
) -> None:
    toml = task.folder / "task.toml"
    said = 'starter = "python train.py"\n'
    toml.write_text(toml.read_text().replace(said, f'{said}sample = "python train.py --sample"\n'))
    crash = "if '--sample' in sys.argv: guess = 7; print('validation MAE=0.01'); assert guess < 7"
    model = Listener(solution("hasty", 1, 0.1, extra=crash), solution("mended", 2, 0.2))
    async with open_environment(BudgetLimits(steps=9), models={"main": model.model}) as environment:
        agent = await act(environment, drafts=1)
        runs = [step.action.arguments.get("arguments") for step in environment.steps[1:6]]
        assert runs == [None, "--sample", None, "--sample", ""]
        assert agent.tree.nodes[1].error.startswith("--sample: AssertionError")
        assert submission(environment) == "id,y\n5,2.5\n6,2.5\n"
    assert "--sample" in model.prompts[0][0].text


MEASURED = {
    "grade.py": "def check_format(submission, public):\n    assert submission.is_file()\n",
    "starter/tool.py": "print(1.0)\n",
    "starter/evaluate.py": (
        "import subprocess, sys\n"
        "said = subprocess.check_output([sys.executable, 'tool.py'], text=True)\n"
        "print(f'validation error={float(said)}')\n"
    ),
    "solution/tool.py": "print(0.0)\n",
}


async def test_a_program_is_measured_by_the_tasks_own_script_and_put_back(
    open_environment: OpenRun, task: Task
) -> None:
    write_files(task.folder, MEASURED)
    toml = task.folder / "task.toml"
    text = toml.read_text()
    for old, new in {
        'kind = "predictions"': 'kind = "program"',
        'path = "submission.csv"': 'path = "tool.py"',
        'starter = "python train.py"': 'starter = "python evaluate.py"',
        'solution = "python train.py"': 'solution = "python evaluate.py"',
        'paths = ["fixed.py"]': 'paths = ["evaluate.py"]\n[collect]\ncommand = "python tool.py"',
    }.items():
        assert old in text
        text = text.replace(old, new)
    toml.write_text(text)
    model = Listener("```\nprint(0.2)\n```", "```\nprint(0.4)\n```")
    async with open_environment(BudgetLimits(steps=8), models={"main": model.model}) as environment:
        agent = await act(environment)
        assert [node.score for node in agent.tree.nodes] == [1.0, 0.2, 0.4]
        assert submission(environment, "tool.py") == "print(0.2)\n"
        last = [step.action.name for step in environment.steps[-3:]]
        assert last == ["Write File", "Validate Submission", "Final Answer"]
    assert "- the starter as it is: validation error=1" in model.question(0)


@pytest.mark.parametrize("answered", [0, 4])
async def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(
    open_environment: OpenRun, answered: int
) -> None:
    first = Listener(*SEARCH[:answered], RuntimeError("out of order"))
    limits = BudgetLimits(steps=15, time=600.0)
    async with open_environment(limits, models={"main": first.model}) as environment:
        with pytest.raises(RunFailed, match="out of order"):
            await act(environment)
    second = Listener(*SEARCH[answered:])
    async with open_environment(limits, models={"main": second.model}) as environment:
        agent = await act(environment)
        assert len(environment.steps) == 15, "no step is done twice"
        assert [node.score for node in agent.tree.nodes] == [None, 0.9, None, 0.5, 0.2, 0.4]
        assert submission(environment) == "id,y\n5,3.5\n6,3.5\n"
    assert prompt_text(second.prompts[0]) == prompt_text(first.prompts[-1])


def test_settings_are_checked() -> None:
    info = find_agent("tree")
    with pytest.raises(UsageError, match="agent tree: policy='random'"):
        info.solver(policy="random")
    with pytest.raises(UsageError, match="drafts=0"):
        info.solver(drafts=0)
    info.solver(policy="uct", drafts=5, final_share=0)


async def test_what_is_rebuilt_has_a_program_that_runs_the_final_fit(
    open_environment: OpenRun,
) -> None:
    model = Listener(*SEARCH[:1])
    rehearsal = Rehearsal(command="bash reproduce.sh")
    async with open_environment(
        BudgetLimits(steps=11), models={"main": model.model}, rehearsal=rehearsal
    ) as environment:
        await act(environment, drafts=1)
        starter, solved, final = (
            step.action.arguments["content"]
            for step in environment.steps
            if step.action.arguments.get("file_name") == "reproduce.sh"
        )
        assert starter == "set -e\npython train.py\n"
        assert (solved, final) == ("set -e\npython solution.py\n", f"{solved.strip()} --final\n")
        checked = environment.steps[-2]
        assert checked.action.name == "Validate Submission" and checked.observation.status == "ok"
        assert "makes a valid submission.csv from the data here" in checked.observation.text
        assert submission(environment) == "id,y\n5,1.5\n6,1.5\n"
        assert submission(environment, "reproduce.sh") == final
    assert "`reproduce.sh` is written for you" in model.prompts[0][0].text
