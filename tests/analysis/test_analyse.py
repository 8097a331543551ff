"""The whole analysis: of a run directory, and of anything that a journal may hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_records import made_record
from told_runs import Run, research_reply

from mlagentbench.analysis.analyse import analyse
from mlagentbench.analysis.evidence import RunEvidence, evidence_of
from mlagentbench.analysis.findings import ClaimCounts, ProcessReport
from mlagentbench.records import RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EventLine, Journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.tasks.task import load_task


def written(directory: Path, run: Run, record: RunRecord) -> RunDirectory:
    """A run directory with what the run tells."""
    place = RunDirectory(directory, Path("runs/house-price/full/react-0/none/1"))
    place.create()
    place.run_json.write_text(record.model_dump_json())
    journal = Journal(place.journal)
    for line in run.lines:
        fields = line.model_dump(exclude={"v", "n", "at", "clock", "kind"})
        journal.append(type(line), line.clock, **fields)
    journal.close()
    return place


def told() -> Run:
    run = Run()
    run.say(research_reply(reflection="The MAE is 77.25."))
    return run.execute(observed="validation MAE=12.5").finish()


def test_evidence_of_a_run_of_a_known_task(tmp_path: Path) -> None:
    evidence = evidence_of(written(tmp_path, told(), made_record()))
    task = load_task("house-price")
    assert evidence.problem == task.problem
    assert evidence.submission == "submission.csv"
    assert evidence.texts["train.py"] == (task.starter / "train.py").read_text()
    report = analyse(evidence)
    assert [finding.kind for finding in report.findings] == ["unsupported-claim"]
    assert report.validation_score == 12.5


@pytest.mark.parametrize("facts", [{"task": "not-there"}, {"task_version": 99}])
def test_a_task_that_is_not_known_here_says_nothing(tmp_path: Path, facts: dict[str, Any]) -> None:
    evidence = evidence_of(written(tmp_path, told(), made_record(**facts)))
    assert (evidence.problem, evidence.submission, evidence.texts) == ("", "", {})
    assert analyse(evidence).claims.unsupported == 1


def test_what_was_said_is_not_judged_when_long_observations_are_lost(tmp_path: Path) -> None:
    run = written(tmp_path, told(), made_record())
    lines = [json.loads(line) for line in run.journal.read_text().splitlines()]
    store = ObjectStore(run.objects)
    next(line for line in lines if line["kind"] == "end")["text"] = store.put(
        b"validation MAE=3.25"
    )
    store.commit()
    run.journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    report = analyse(evidence_of(run))
    assert report.validation_score == 3.25
    assert report.claims.unsupported == 1
    for path in run.objects.rglob("*"):
        if path.is_file():
            path.unlink()
    report = analyse(evidence_of(run))
    assert report.claims == ClaimCounts()
    assert report.findings == ()


def test_findings_come_in_the_order_of_their_steps() -> None:
    run = Run().crash().do("Fly", "no", status="error", fault="unknown action").write("a.py")
    found = run.finish().report().findings
    assert [finding.steps[0] for finding in found] == sorted(one.steps[0] for one in found)
    assert {"crash", "invalid-action", "edit-never-run"} <= {one.kind for one in found}


def test_a_run_that_has_not_begun_has_nothing_to_tell() -> None:
    report = Run().report()
    assert report == ProcessReport(budget_unused=report.budget_unused)


WORDS = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "The accuracy is 0.91.",
            "Observation: x",
            "Action: Fly\nAction Input: {",
            "Action Input: {}{}}",
            "```\n",
            "<think>",
            "{" * 50,
            "I ran train.py.",
            "nan 1e999 -0.0% 1,2,3",
            "Research Plan and Status: 1. x. Not done.",
            "open('/etc/x', 'w')",
            "@@ -1,2 +3,4 @@\n+x\n-y",
            "\ud800\x00\u202e",
            "validation MAE=1e999",
        ]
    ),
)
TEXTS = st.lists(WORDS, max_size=4).map("\n".join)
ACTIONS = st.sampled_from(
    [
        "Write File",
        "Append File",
        "Replace in File",
        "Copy File",
        "Edit Script (AI)",
        "Edit Script Segment (AI)",
        "Undo Edit Script",
        "Execute Script",
        "Python REPL",
        "Read File",
        "List Files",
        "Validate Submission",
        "Unusable Reply",
        "Final Answer",
        "unknown",
        "",
    ]
)
NAMES = (
    "file_name", "script_name", "save_name", "source", "destination", "content", "old", "new",
    "command", "arguments", "final_answer", "start_line_number",
)  # fmt: skip
VALUES = st.one_of(
    TEXTS, st.sampled_from(["a.py", "./a.py", "b.sh", "", "../x", "/"]), st.integers(), st.none(),
    st.lists(st.one_of(st.text(max_size=5), st.floats()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)  # fmt: skip
STEPS = st.tuples(
    ACTIONS,
    TEXTS,
    TEXTS,
    st.sampled_from(["ok", "error", "refused", "limit", "interrupted"]),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(STEPS, max_size=6),
    st.sampled_from(["submitted", "steps", "context", "failed", None]),
    TEXTS,
)
def test_nothing_that_a_journal_may_hold_breaks_the_analysis(
    steps: list[tuple[str, str, str, str, dict[str, object]]], end: str | None, problem: str
) -> None:
    run = Run(problem=problem, texts={"a.py": problem})
    for name, words, observed, status, arguments in steps:
        run.say(words)
        run.do(name, observed, status=status, **arguments)  # type: ignore[arg-type]
    if end is not None:
        run.end(end)
    last = run.steps
    report = run.report()
    assert all(0 <= step <= last for finding in report.findings for step in finding.steps)
    assert ProcessReport.model_validate_json(report.model_dump_json()) == report


def test_events_of_replies_that_are_not_there_do_no_harm() -> None:
    run = Run().execute()
    run.lines.append(EventLine(n=99, at=0.0, clock=0.0, event="unreadable", reply=1234))
    assert [finding.steps for finding in run.found("unreadable-reply")] == [(1,)]


def test_a_history_without_a_first_line_can_be_analysed() -> None:
    run = Run().execute().execute().execute()
    evidence = run.told()
    evidence.history.run = None
    assert isinstance(analyse(evidence), ProcessReport)
    assert isinstance(evidence, RunEvidence)
