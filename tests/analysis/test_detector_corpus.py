"""The labelled journals by which detectors are measured: whole, well-formed, and the same again."""

import ast
import json
import sys
from pathlib import Path
from typing import get_args

import measure
import planting
import pytest
from corpus import LabelledRun, half_of, natural_labels, natural_runs, split, task_texts
from matching import compare

from mlagentbench.analysis.findings import BoundaryLevel, Finding, FindingKind
from mlagentbench.runs.journal import BeginLine, EndLine, EventLine, ReplyLine

DETECTORS = Path(__file__).parents[2] / "bench" / "detectors"
KINDS = get_args(FindingKind)
PLANTING = (
    "planting", "drafts", "speech", "step_faults", "border_faults", "word_faults", "phrases",
    "boundary_code", "corpus",
)  # fmt: skip


@pytest.fixture(scope="module")
def planted() -> list[LabelledRun]:
    """One planted journal of each source."""
    return [planting.plant(run, 0) for run in natural_runs() if planting.is_source(run)]


def test_there_are_natural_runs_enough_and_all_can_be_read() -> None:
    runs = natural_runs()
    assert len(runs) >= 110
    assert all(run.run.history.steps for run in runs)
    assert {run.run.record.disclosure.task for run in runs} <= set(task_texts())
    assert set(natural_labels()) <= {run.run.name for run in runs}


def test_stored_runs_tell_nothing_of_the_machine_that_made_them() -> None:
    for run in natural_runs():
        assert set(run.run.record.disclosure.hardware) == {"cores", "system"}
        text = run.run.model_dump_json()
        assert "/" + "root/" not in text
        assert "/tmp/" not in text


def test_labels_name_steps_and_kinds_that_exist(planted: list[LabelledRun]) -> None:
    for labelled in (*natural_runs(), *planted):
        steps = {step.n for step in labelled.run.history.steps}
        for label in labelled.labels:
            assert label.kind in KINDS
            assert label.steps and set(label.steps) <= steps, labelled.run.name
            assert (label.kind == "boundary") == (label.level in get_args(BoundaryLevel))


def test_every_family_is_in_one_half_by_its_name() -> None:
    halves = split()
    families = {run.run.family for run in natural_runs()}
    assert set(halves) == families
    assert all(half == half_of(family) for family, half in halves.items())
    natural = [halves[run.run.family] for run in natural_runs()]
    assert 0.35 < natural.count("test") / len(natural) < 0.65


def test_planted_journals_are_as_the_harness_writes_them(planted: list[LabelledRun]) -> None:
    for labelled in planted:
        lines, history = labelled.run.lines, labelled.run.history
        assert [line.n for line in lines] == list(range(len(lines)))
        assert [step.n for step in history.steps] == list(range(1, len(history.steps) + 1))
        clocks = [line.clock for line in lines]
        assert clocks == sorted(clocks)
        replies = {line.n for line in lines if isinstance(line, ReplyLine)}
        named = {line.reply for line in lines if isinstance(line, EventLine)} - {None}
        assert named <= replies
        begun = sum(isinstance(line, BeginLine) for line in lines)
        assert begun == sum(isinstance(line, EndLine) for line in lines) == len(history.steps)
        assert all(grade.step <= len(history.steps) for grade in labelled.run.grades)
        used = [step.usage.input_tokens for step in history.steps if step.usage is not None]
        assert used == sorted(used)


def test_only_planted_edits_change_the_workspace(planted: list[LabelledRun]) -> None:
    """Repetitions of a planted loop stand on one workspace and see the same."""
    loops = 0
    for labelled in planted:
        steps = labelled.run.history.steps
        start = labelled.run.history.run
        assert start is not None
        before = {
            step.n: steps[step.n - 2].snapshot if step.n > 1 else start.snapshot for step in steps
        }
        for label in labelled.labels:
            if label.kind == "loop":
                loops += 1
                assert len(label.steps) >= 3
                assert len({before[n] for n in label.steps}) == 1
                assert len({steps[n - 1].action.model_dump_json() for n in label.steps}) == 1
    assert loops > 5


def test_planting_again_plants_the_same() -> None:
    source = next(run for run in natural_runs() if planting.is_source(run))
    assert planting.plant(source, 3) == planting.plant(source, 3)
    assert planting.plant(source, 3) != planting.plant(source, 4)


def test_planting_knows_nothing_of_the_detectors() -> None:
    for name in PLANTING:
        tree = ast.parse((DETECTORS / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [alias.name for alias in node.names]
                module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
                assert "evaluation" not in f"{module} {named}", name


def test_a_label_is_matched_by_one_finding_and_doubtful_ones_by_any() -> None:
    labelled = next(run for run in natural_runs() if len(run.run.history.steps) >= 3)
    crash = {"kind": "crash", "steps": (1,)}
    loop = {"kind": "loop", "steps": (1, 2, 3), "doubtful": True}
    labelled = LabelledRun.model_validate(
        {"run": labelled.run, "labels": [crash, {**crash, "steps": (3,)}, loop]}
    )
    findings = [
        Finding(kind="crash", steps=(1,), detail="found"),
        Finding(kind="crash", steps=(1,), detail="once too often"),
        Finding(kind="loop", steps=(3,), detail="who knows"),
        Finding(kind="tool-error", steps=(2,), detail="never happened"),
    ]
    result = compare(labelled, findings)
    assert [label.steps for label in result.found] == [(1,)]
    assert [label.steps for label in result.missed] == [(3,)]
    assert [finding.detail for finding in result.false_alarms] == [
        "once too often",
        "never happened",
    ]
    assert [finding.detail for finding in result.doubtful] == ["who knows"]


def test_figures_of_the_test_half_are_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "detectors.json"
    there.write_text("{}")
    monkeypatch.setattr(measure, "RESULTS", there)
    monkeypatch.setattr(sys, "argv", ["measure.py", "--split", "test"])
    with pytest.raises(SystemExit, match="computed once"):
        measure.main()
    assert there.read_text() == "{}"


def test_what_is_written_has_each_detectors_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "detectors.json")
    monkeypatch.setattr(measure, "SHOWN_FIGURES", tmp_path / "figures.json")
    labelled = next(run for run in natural_runs() if run.run.name == "house-price-react-recorded")
    alarm = Finding(kind="loop", steps=(1,), detail="none")
    compared = [compare(labelled, [alarm])]
    measure.write(measure.measured("test", compared, repetition=False))
    shown = json.loads((tmp_path / "figures.json").read_text())
    assert shown["crash"]["positives"] == 1
    assert shown["crash"]["recall"] == 0.0
    steps = len(labelled.run.history.steps)
    assert shown["loop"]["false_alarms_per_1000_steps"] == 1000 / steps
    assert json.loads((tmp_path / "detectors.json").read_text())["natural_steps"] == steps
