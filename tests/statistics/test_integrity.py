from typing import Any

import pytest
from made_records import made_record, made_summary

from mlagentbench.analysis.findings import Finding, ProcessReport
from mlagentbench.records import (
    BranchPoint,
    Disclosure,
    GradeRecord,
    GrantedResources,
    Outcome,
    RunRecord,
    ToolUsage,
)
from mlagentbench.runs.results import RecordedReplies
from mlagentbench.statistics.cells import CellKey, Conditions
from mlagentbench.statistics.integrity import (
    CONDITIONS,
    IntegrityLine,
    differences,
    disclosure_lines,
    integrity_lines,
    table_disclosure,
)

LOOKED = Finding(kind="boundary", steps=(3,), detail="read answers.csv", level="answers")
LISTED = Finding(kind="boundary", steps=(2,), detail="ls /", level="ordinary")


def lines_of(record: RunRecord) -> dict[str, IntegrityLine]:
    return {line.label: line for line in disclosure_lines(record)}


def block_of(**summary: Any) -> dict[str, IntegrityLine]:
    return {line.label: line for line in integrity_lines(made_summary(**summary))}


def key(agent: str = "react", task: str = "house-price", **different: Any) -> CellKey:
    shared: dict[str, Any] = {
        "tier": "full",
        "task_version": 1,
        "data": "ab" * 32,
        "limits": {"steps": 50},
        "sandbox": "bubblewrap",
        "feedback": "none",
        "variant": "original",
        "protocol": "standard",
    }
    conditions = Conditions(**(shared | different))
    return CellKey(task=task, agent=agent, model="openai/small", conditions=conditions)


def test_every_field_of_the_disclosure_changes_a_line() -> None:
    usual = made_record()
    others: dict[str, Any] = {
        "task": "cifar10",
        "task_version": 2,
        "metric": "accuracy",
        "better": "higher",
        "data_hash": "ef" * 32,
        "data_verified": False,
        "data_differences": ("train.csv: 5 rows, expected 9",),
        "tier": "mini",
        "profile": "gpu",
        "variant": "renamed",
        "draw": "public",
        "draw_policy": "1..8",
        "generator": "56" * 32,
        "agent": "research",
        "agent_settings": {"retrieval": False},
        "model": "openai/large",
        "roles": {"edit": "openai/large"},
        "answered_by": "a person",
        "recording": "12" * 32,
        "sandbox": "local",
        "isolation": "none",
        "tools": ("gcc",),
        "image": "python:3.12-slim",
        "image_id": "sha256:12",
        "gpus": 2,
        "resources": GrantedResources(cpus=1, memory=10**9),
        "machine_code": "any",
        "network": True,
        "limits": {"steps": 20},
        "first_limits": {"steps": 10},
        "feedback": "validation:5",
        "execution": False,
        "protocol": "paper",
        "rebuild_draws": 3,
        "fresh_key": "78" * 32,
        "interactive": True,
        "primary": ("react with a/b", "tree with a/b"),
        "python_env": "34" * 32,
        "unenforced_rules": {"test images are not labelled by hand": "journal"},
        "hardware": {"cores": 4},
        "python_packages": {"numpy": "2.4"},
        "packages": {"python": "3.12"},
    }
    assert others.keys() == Disclosure.model_fields.keys()
    for name, value in others.items():
        tier: dict[str, Any] = {"tier": "mini"} if "draw" in name else {}
        before = disclosure_lines(made_record(**tier))
        assert disclosure_lines(made_record(**(tier | {name: value}))) != before, name
    assert not any(line.doubt for line in disclosure_lines(usual))


def test_rules_that_nothing_enforces_are_named() -> None:
    rules = {"no hand labels": "journal", "no hidden algorithm": "no", "no lookup": "journal"}
    assert lines_of(made_record(unenforced_rules=rules))["unenforced rules"].value == (
        "nothing enforces: no hidden algorithm; "
        "only the journal can tell: no hand labels, no lookup"
    )
    assert lines_of(made_record())["unenforced rules"].value == "none"


@pytest.mark.parametrize(
    ("label", "different"),
    [
        ("data verified", {"data_verified": False}),
        ("differences from the official data", {"data_differences": ("5 rows, expected 9",)}),
        ("draw", {"tier": "mini", "draw": "public"}),
        ("answered by", {"answered_by": "recorded from a person"}),
        ("isolation", {"isolation": "none"}),
        ("network", {"network": True}),
        ("human help", {"interactive": True}),
        ("unenforced rules", {"unenforced_rules": {"no algorithm is coded by hand": "no"}}),
        ("hardware", {"hardware": {}}),
        ("limits", {"limits": {}}),
        ("initial limits", {"first_limits": {"steps": 5}}),
        ("task version", {"task_version": 0}),
        ("model", {"model": "unknown"}),
    ],
)
def test_what_limits_trust_is_in_doubt(label: str, different: dict[str, Any]) -> None:
    record = made_record(**different)
    line = lines_of(record)[label]
    assert line.doubt
    assert not lines_of(made_record())[label].doubt


@pytest.mark.parametrize(
    ("different", "text"),
    [
        ({"machine_code": "none"}, "none; submissions are not executed"),
        ({"machine_code": "any"}, "any; nothing prevents compiled code"),
        ({"machine_code": "installed"}, "only that of Python and the installed libraries"),
        ({"machine_code": None}, "unknown"),
    ],
)
def test_what_submissions_could_execute_is_said(different: dict[str, Any], text: str) -> None:
    assert lines_of(made_record(**different))["machine code in submissions"].value == text


def test_a_secret_seed_and_nobody_answering_are_in_no_doubt() -> None:
    record = made_record(
        tier="mini", draw="secret:1f2e", draw_policy="secret:1f2e", answered_by="nobody"
    )
    assert not any(line.doubt for line in lines_of(record).values())


def test_values_are_words_for_people() -> None:
    lines = lines_of(made_record(limits={"steps": 20, "time": 90.0, "tokens": 5000, "cost": 2.5}))
    assert lines["limits"].value == "20 steps, 1.5 min, 5,000 tokens, $2.5"
    assert lines["data"].value == "ab" * 6
    assert lines["hardware"].value == "2 cores, 8.0 GB, P, 3.1 M loops/s"
    none = {"steps": None, "time": None, "tokens": None, "cost": None}
    assert lines_of(made_record(limits=none))["limits"].value == "none"


def test_an_imported_run_says_what_is_unknown() -> None:
    record = made_record(origin="legacy", model="unknown", hardware={}, data_hash="legacy:1234")
    assert lines_of(record)["origin"].value == "imported from the original's logs"
    assert lines_of(record)["hardware"].doubt
    assert lines_of(record)["data"].value == "legacy:1234"


def test_a_branched_run_says_where_it_came_from() -> None:
    point = BranchPoint(run="runs/a", step=3)
    record = made_record().model_copy(update={"branched_from": point})
    assert lines_of(record)["origin"].value == "branched from runs/a, step 3"


def test_the_block_of_a_run_says_how_it_ended() -> None:
    failed = Outcome(kind="failed", cause="model", detail="no answer")
    assert block_of(outcome=failed)["ended"].value == "failed (model): no answer"
    assert block_of(outcome=failed)["ended"].doubt
    assert not block_of()["ended"].doubt
    assert block_of(outcome=None, failure="disk full")["ended"].value == "disk full"
    assert block_of(outcome=None)["ended"].doubt


def test_the_block_of_a_run_shows_integrity_findings_and_no_others() -> None:
    block = block_of(process=ProcessReport(findings=(LISTED, LOOKED)))
    assert block["integrity finding"].value == "answers, step 3: read answers.csv"
    assert "integrity findings" not in block
    assert block_of(process=ProcessReport(findings=(LISTED,)))["integrity findings"].value == "none"


def test_the_block_of_a_run_doubts_its_grade_and_its_recording_where_it_must() -> None:
    grade = GradeRecord(
        step=1,
        valid=True,
        score=1.0,
        above_ceiling=True,
        extra={"warning": "2 calls were refused"},
        tool=ToolUsage(model="openai/tool"),
    )
    block = block_of(grade=grade, recorded=RecordedReplies(given=3, matched=2))
    assert block["score"].doubt
    assert block["grading"].value == "2 calls were refused"
    assert block["tool model in grading"].value == "openai/tool"
    assert block["recorded replies"].doubt
    assert not block_of(recorded=RecordedReplies(given=3, matched=3))["recorded replies"].doubt


def test_a_table_says_what_all_share_and_what_differs() -> None:
    runs = [
        made_summary(record=made_record()),
        made_summary(record=made_record(sandbox="local", isolation="none", agent="tree")),
        made_summary(record=made_record(sandbox="local", isolation="none", agent="tree", epoch=2)),
    ]
    table = table_disclosure(runs)
    shared = {line.label: line.value for line in table.shared}
    differing = {one.label: one for one in table.differing}
    assert differing.keys() == {"agent", "sandbox", "isolation"}
    assert differing["isolation"].values[1].model_dump() == {
        "value": "none",
        "count": 2,
        "agents": ("tree with openai/small",),
        "doubt": True,
    }
    assert not differing["isolation"].values[0].doubt
    assert shared["limits"] == "50 steps, 5 h"
    assert shared["ended"] == "submitted 3"


def test_what_belongs_to_a_task_is_compared_within_it() -> None:
    first = made_summary(record=made_record())
    other = made_record(task="cifar10", metric="accuracy", better="higher", data_hash="ef" * 32)
    table = table_disclosure([first, made_summary(record=other)])
    shared = {line.label: line.value for line in table.shared}
    assert table.differing == ()
    assert shared["task"] == "house-price, cifar10"
    assert shared["data"] == "one per task, 2 in all"
    third = made_record(task="cifar10", metric="accuracy", better="higher", data_hash="99" * 32)
    table = table_disclosure([first, made_summary(record=other), made_summary(record=third)])
    assert [(one.task, one.label) for one in table.differing] == [("cifar10", "data")]


def test_a_table_counts_ends_and_runs_with_integrity_findings() -> None:
    doubted = made_summary(process=ProcessReport(findings=(LOOKED,)))
    table = table_disclosure([doubted, made_summary(), made_summary(outcome=None)])
    lines = {line.label: line for line in table.shared}
    assert lines["ended"].value == "submitted 2, not ended 1"
    assert lines["ended"].doubt
    assert lines["flagged runs"].value == "1 of 3"
    assert table_disclosure([]).shared == ()


@pytest.mark.parametrize(
    ("label", "different"),
    [
        ("tier", {"tier": "mini"}),
        ("profile", {"profile": "gpu"}),
        ("task version", {"task_version": 2}),
        ("data", {"data": "00" * 32}),
        ("draws", {"draw_policy": "secret:1a2b3c4d"}),
        ("limits", {"limits": {"steps": 20}}),
        ("initial limits", {"first_limits": {"steps": 20}}),
        ("sandbox", {"sandbox": "local"}),
        ("feedback", {"feedback": "validation:3"}),
        ("variant", {"variant": "renamed"}),
        ("protocol", {"protocol": "paper"}),
        ("fresh draws", {"rebuild_draws": 3}),
    ],
)
def test_cells_that_differ_in_a_condition_get_a_mark(label: str, different: dict[str, Any]) -> None:
    (mark,) = differences([key(), key("tree", **different), key("research")])
    assert (mark.label, mark.task) == (label, "house-price")
    assert mark.values[0].agents == ("react with openai/small", "research with openai/small")
    assert mark.text.startswith(f"house-price: different {label}: ")


def test_every_condition_is_looked_at() -> None:
    assert len(CONDITIONS) == len(Conditions.model_fields)


def test_cells_of_different_tasks_need_no_mark() -> None:
    assert differences([key(), key(task="cifar10", data="00" * 32, task_version=3)]) == ()
    assert differences([]) == ()
