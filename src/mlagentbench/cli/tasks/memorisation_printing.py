"""What `mlagentbench tasks memorisation` prints: a line for each test, and what it means."""

from collections.abc import Sequence
from pathlib import Path

from mlagentbench.models.model_check import read_prices
from mlagentbench.models.model_choice import choose, parse_arguments, require_known_arguments
from mlagentbench.numeric.number_format import (
    counted,
    dollars_text,
    p_text,
    percent_interval_text,
    percent_text,
    tokens_text,
)
from mlagentbench.task_checks.memorisation.memorisation import (
    MemorisationReport,
    MemorisationRequest,
    TaskMemorisation,
    measure_memorisation,
)
from mlagentbench.task_checks.memorisation.memory_verdict import MemoryTest
from mlagentbench.tasks.suites import chosen_tasks
from mlagentbench.terminal import Terminal, plain_table, print_json, say

HEADINGS = ("task", "test", "column", "right", "95 % CI", "guessed", "mini", "p", "verdict")
NUMBERS = ("right", "95 % CI", "guessed", "mini", "p")
STYLES = {"strong": "bold red", "some": "yellow", "unclear": "yellow"}


def memorisation_from_command_line(
    model: str,
    arguments: Sequence[str],
    *,
    tasks: str | None,
    suite: str | None,
    rows: int,
    seed: int,
    max_tokens: int,
    prices: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Read the options, ask the model and print the result."""
    given = parse_arguments(arguments)
    require_known_arguments(given, [model])
    names = [name.strip() for name in (tasks or "").split(",") if name.strip()]
    request = MemorisationRequest(
        model=choose(model, given),
        tasks=tuple(chosen_tasks(names, suite)) if names or suite else (),
        rows=rows,
        seed=seed,
        max_tokens=max_tokens,
        out=out,
    )
    price = None if prices is None else read_prices(prices, {model})[model]
    report, file = measure_memorisation(request, price, say)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_memorisation(report, file)


def print_memorisation(report: MemorisationReport, file: Path) -> None:
    """The table, what it means for each task, and where everything is stored."""
    console = Terminal(soft_wrap=True)
    console.heading(f"Memorisation by {report.model}: {report.rows} questions in each test")
    table = plain_table(*HEADINGS, right=NUMBERS)
    table.columns[0].no_wrap = True
    for task in report.tasks:
        for test in task.tests:
            table.add_row(task.task, *_cells(test), style=STYLES.get(test.verdict))
    console.print(table)
    console.print()
    for task in report.tasks:
        console.print(_meaning(task), style=STYLES.get(task.verdict))
        if task.data_differences:
            console.print(_doubt(task), style="yellow")
    for left_out in report.left_out:
        console.print(f"{left_out.task}: left out: {left_out.reason}", style="dim")
    console.print(_spent(report), style="dim")
    console.print(f"every prompt and reply: {file}", style="dim")


def _cells(test: MemoryTest) -> list[str]:
    right = f"{test.matches}/{test.asked}"
    control = f"{test.control_matches}/{test.control_asked}" if test.control_asked else "-"
    return [
        test.test,
        test.column,
        right,
        percent_interval_text(test.interval, 0),
        f"{test.guess_matches}/{test.asked}",
        control,
        p_text(test.p_value),
        test.verdict,
    ]


def _meaning(task: TaskMemorisation) -> str:
    if task.verdict == "not applicable":
        return f"{task.task}: not applicable: {task.reason}"
    if task.verdict in ("some", "strong"):
        found = ", ".join(test.test for test in task.tests if test.verdict == task.verdict)
        return (
            f"{task.task}: {task.verdict}: the model knows rows of the original file ({found}); "
            "compare with `run --variant both`"
        )
    if task.verdict == "unclear":
        silent = min(task.tests, key=lambda test: test.answered / test.asked)
        return (
            f"{task.task}: unclear: only {silent.answered} of {silent.asked} replies to "
            f"{silent.test} questions contain an answer"
        )
    most = max(test.interval.high for test in task.tests)
    return (
        f"{task.task}: no sign: right no more often than without memory; up to "
        f"{percent_text(most, 0)} % of the rows may still be known"
    )


def _doubt(task: TaskMemorisation) -> str:
    """Of other data than the official ones, a verdict says little about those."""
    differences = "; ".join(task.data_differences)
    return f"{task.task}: asked about data that are not the official ones: {differences}"


def _spent(report: MemorisationReport) -> str:
    tokens = f"{tokens_text(report.input_tokens)} + {tokens_text(report.output_tokens)} tokens"
    cost = "" if report.cost is None else f", {dollars_text(report.cost)}"
    return (
        f"{counted(report.questions, 'question')}, {tokens}{cost}; answered by {report.answered_by}"
    )
