"""The paper's tables and plots, on runs whose truth is known, computed anew from that truth."""

import csv
import io
import math
import random
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from made_records import SUBMITTED
from made_runs import graded, run

from mlagentbench.analysis.findings import ErrorMode, ProcessReport, ShownMode
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import Outcome, Usage
from mlagentbench.report.exports.paper.paper_export import files
from mlagentbench.report.report import report_data
from mlagentbench.report.report_data import CollectedRun, Collection

CATEGORIES = {
    "canonical": ("cifar10", "imdb", "ogbn-arxiv"),
    "classic-kaggle": ("house-price", "spaceship-titanic"),
    "kaggle-challenge": ("parkinsons-disease", "fathomnet", "feedback", "identify-contrails"),
    "recent-research": ("clrs", "babylm"),
    "code-improvement": ("llama-inference", "vectorization"),
}
TASKS = [task for tasks in CATEGORIES.values() for task in tasks]
LOG, NO_LOG = {"retrieval": True}, dict[str, Any]()
AGENTS = [("research", NO_LOG), ("research", LOG), ("autogpt", {}), ("langchain", {})]
MODELS = ("openai/large", "openai/small")
MODES: list[ErrorMode] = ["hallucination", "debugging", "small improvement"]
PUBLISHED = Path(__file__).parents[3] / "src/mlagentbench/report/published_tables"


@dataclass(frozen=True)
class Truth:
    """What really happened in a run; a run without `valid` is missing."""

    task: str
    agent: str
    model: str
    gain: float
    valid: bool | None
    seconds: float
    tokens: int
    mode: ErrorMode | None

    @property
    def name(self) -> str:
        return f"{self.agent} with {self.model}"

    @property
    def succeeds(self) -> bool:
        return bool(self.valid) and self.gain > 0.1


def made(luck: random.Random, task: str, agent: int, model: str, epoch: int) -> Any:
    name, settings = AGENTS[agent]
    shown = f"{name}(retrieval=true)" if settings else name
    fate = luck.random()
    valid = None if fate < 0.05 else fate > 0.15
    normalised = luck.choice([-0.4, 0.05, 0.12, 0.13, 0.4, 0.9])
    mode = luck.choice(MODES) if valid is not None and normalised < 0.5 else None
    truth = Truth(
        task, shown, model, 0.8 * normalised, valid, luck.uniform(60, 9000),
        luck.randrange(1000, 900_000), mode,
    )  # fmt: skip
    summary = run(
        epoch,
        None if valid is None else graded(normalised if valid else None),
        outcome=Outcome(kind="failed", cause="model") if valid is None else SUBMITTED,
        usage=Usage(steps=40, seconds=truth.seconds, input_tokens=truth.tokens),
        task=task, agent=name, agent_settings=settings, model=model, protocol="paper",
    )  # fmt: skip
    shown_modes = () if mode is None else (ShownMode(mode=mode, step=3),)
    return truth, summary.model_copy(update={"process": ProcessReport(error_modes=shown_modes)})


@pytest.fixture(scope="module")
def truths() -> list[tuple[Truth, RunSummary]]:
    """Every agent with every model on every task; LangChain only with one, on half of them."""
    luck = random.Random(7)
    return [
        made(luck, task, agent, model, epoch)
        for task in TASKS
        for agent in range(len(AGENTS))
        for model in MODELS
        for epoch in range(1, 9)
        if agent < 3 or (model == MODELS[0] and TASKS.index(task) % 2)
    ]


@pytest.fixture(scope="module")
def written(truths: list[tuple[Truth, RunSummary]]) -> dict[str, str]:
    runs = tuple(
        CollectedRun(name=f"run-{at}", directory=Path("none"), fingerprint="", summary=summary)
        for at, (_, summary) in enumerate(truths)
    )
    data = report_data(Collection(outs=(Path("out"),), runs=runs), "report --paper")
    return {name: contents.decode() for name, contents in files(data)}


def values(written: dict[str, str], item: str) -> dict[tuple[str, str], dict[str, str]]:
    """An item's CSV file: line and column to its row."""
    head, *lines = csv.reader(io.StringIO(written[f"{item}.csv"]))
    assert len({(line[0], line[1]) for line in lines}) == len(lines)
    return {(line[0], line[1]): dict(zip(head, line, strict=True)) for line in lines}


def published(file: str) -> dict[tuple[str, str], float]:
    text = (PUBLISHED / file).read_text().splitlines()[1:]
    return {
        (line["task"], model): float(line[model]) / 100
        for line in csv.DictReader(text)
        for model in line
        if model != "task"
    }


def cells_of(truths: list[tuple[Truth, RunSummary]]) -> dict[tuple[str, str], list[Truth]]:
    groups: dict[tuple[str, str], list[Truth]] = defaultdict(list)
    for truth, _ in truths:
        groups[truth.task, truth.name].append(truth)
    return groups


def wilson(successes: int, n: int) -> tuple[float, float]:
    z, share = 1.959963984540054, successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def test_every_item_has_its_values_table_and_figure(written: dict[str, str]) -> None:
    items = {
        "success-by-task", "improvement-by-task", "time-by-task", "tokens-by-task", "error-modes",
        "error-modes-cifar10", "task-categories", "log-ablation", "agents-compared",
    }  # fmt: skip
    kinds = ("csv", "md", "svg")
    assert set(written) == {f"{item}.{kind}" for item in items for kind in kinds} | {"index.md"}
    for item in items:
        assert f"({item}.csv)" in written["index.md"]
        assert "research" in written[f"{item}.svg"] or item == "log-ablation"


def test_success_and_improvement_by_task_and_model(
    truths: list[tuple[Truth, RunSummary]], written: dict[str, str]
) -> None:
    success = values(written, "success-by-task")
    improvement = values(written, "improvement-by-task")
    rates, gains = defaultdict(list), defaultdict(list)
    for (task, name), runs in cells_of(truths).items():
        counted = [one for one in runs if one.valid is not None]
        successes = sum(one.succeeds for one in counted)
        row = success[task, name]
        assert float(row["value"]) == pytest.approx(successes / len(counted))
        assert [float(row["low"]), float(row["high"])] == pytest.approx(
            list(wilson(successes, len(counted)))
        )
        assert row["runs"] == f"{len(counted)}"
        assert row["missing"] == f"{len(runs) - len(counted)}" and row["source"] == "runs"
        mean = statistics.fmean(one.gain for one in counted if one.valid)
        assert float(improvement[task, name]["value"]) == pytest.approx(mean)
        rates[name].append(successes / len(counted))
        gains[name].append(mean)
    for name in rates:
        over = "mean over the tasks shown", name
        assert float(success[over]["value"]) == pytest.approx(statistics.fmean(rates[name]))
        assert float(improvement[over]["value"]) == pytest.approx(statistics.fmean(gains[name]))


@pytest.mark.parametrize(
    "item, file",
    [
        ("success-by-task", "paper_success_rate.csv"),
        ("improvement-by-task", "paper_improvement.csv"),
    ],
)
def test_published_values_stand_beside(written: dict[str, str], item: str, file: str) -> None:
    found, known = values(written, item), published(file)
    for model in {model for _, model in known}:
        column = f"published: {model}"
        for task in TASKS:
            row = found[task, column]
            assert row["source"] == "published" and row["runs"] == ""
            assert float(row["value"]) == pytest.approx(known[task, model])
        shown = statistics.fmean(known[task, model] for task in TASKS)
        assert float(found["mean over the tasks shown", column]["value"]) == pytest.approx(shown)
        own = float(found["the paper's mean over its 13 tasks", column]["value"])
        assert own == pytest.approx(known["Average", model])


def test_time_and_tokens_by_task_and_model(
    truths: list[tuple[Truth, RunSummary]], written: dict[str, str]
) -> None:
    time, tokens = values(written, "time-by-task"), values(written, "tokens-by-task")
    for place, runs in cells_of(truths).items():
        counted = [one for one in runs if one.valid is not None]
        seconds = statistics.fmean(one.seconds for one in counted)
        assert float(time[place]["value"]) == pytest.approx(seconds)
        assert time[place]["unit"] == "seconds"
        used = statistics.fmean(one.tokens for one in counted)
        assert float(tokens[place]["value"]) == pytest.approx(used)


def test_error_modes_on_all_tasks_and_on_the_one_that_the_paper_labelled(
    truths: list[tuple[Truth, RunSummary]], written: dict[str, str]
) -> None:
    for item, tasks in (("error-modes", TASKS), ("error-modes-cifar10", ["cifar10"])):
        found = values(written, item)
        runs = [one for one, _ in truths if one.task in tasks and one.valid is not None]
        for name in {one.name for one in runs}:
            own = [one for one in runs if one.name == name]
            modes = Counter(one.mode for one in own)
            for mode in MODES:
                share = float(found[mode, name]["value"])
                assert share == pytest.approx(modes[mode] / len(own))


def test_categories_of_tasks(
    truths: list[tuple[Truth, RunSummary]], written: dict[str, str]
) -> None:
    found, known = values(written, "task-categories"), published("paper_success_rate.csv")
    success = values(written, "success-by-task")
    for category, tasks in CATEGORIES.items():
        for name in {one.name for one, _ in truths}:
            rates = [
                float(success[task, name]["value"]) for task in tasks if (task, name) in success
            ]
            if rates:
                value = float(found[category, name]["value"])
                assert value == pytest.approx(statistics.fmean(rates))
            else:
                assert (category, name) not in found
        theirs = statistics.fmean(known[task, "GPT-4"] for task in tasks)
        assert float(found[category, "published: GPT-4"]["value"]) == pytest.approx(theirs)


def test_the_log_ablation_has_both_sides_of_every_model(written: dict[str, str]) -> None:
    found = values(written, "log-ablation")
    for item, key in (("success-by-task", "success"), ("improvement-by-task", "improvement")):
        plain = values(written, item)
        for model in MODELS:
            sides = (("research", "no log"), ("research(retrieval=true)", "log"))
            for line in [*TASKS, "mean over the tasks shown"]:
                for agent, how in sides:
                    here = found[line, f"{model}, {key}, {how}"]
                    assert here["value"] == plain[line, f"{agent} with {model}"]["value"]


def test_agents_are_compared_by_their_means(written: dict[str, str]) -> None:
    found = values(written, "agents-compared")
    for key in ("success", "improvement", "time", "tokens"):
        plain = values(written, f"{key}-by-task")
        names = [name for line, name in plain if line == "cifar10" and "with" in name]
        for name in [*names, f"langchain with {MODELS[0]}"]:
            mean = plain["mean over the tasks shown", name]["value"]
            assert found[name, key]["value"] == mean
    assert "langchain with openai/large: on 6 of 13 tasks only" in written["agents-compared.md"]


def test_tables_say_how_the_runs_differ_from_the_papers(written: dict[str, str]) -> None:
    table = written["success-by-task.md"]
    assert "missing runs, lost to infrastructure: " in table
    assert "ICML 2024" in table and "mini tier" not in table
    assert "no published values" in written["tokens-by-task.md"]


def test_runs_that_never_ended_make_tables_without_plots() -> None:
    lost = run(1, None, outcome=Outcome(kind="failed", cause="model"), limits={"steps": 3})
    runs = (CollectedRun(name="run", directory=Path("none"), fingerprint="", summary=lost),)
    data = report_data(Collection(outs=(Path("out"),), runs=runs), "report --paper")
    found = {name: contents.decode() for name, contents in files(data)}
    assert "success-by-task.csv" in found and "time-by-task.svg" not in found
    assert "limits: 3 steps; in the paper 50 steps, 5 h" in found["success-by-task.md"]
    assert "not the paper's protocol" in found["success-by-task.md"]
