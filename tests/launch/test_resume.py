"""Runs that go on: after their budget is raised, only for their grade, and as branches."""

import asyncio
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from chains import change_record, faults, write_lines
from number_task import GRADE, write_number_task
from typer.testing import CliRunner

from mlagentbench.analysis.analyse import summarise
from mlagentbench.cli import app
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.grading.grade import grade_run
from mlagentbench.grading.regrade import score_runs
from mlagentbench.launch.branch import Changes, branch_run
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.resume import ResumeOptions, resume_runs
from mlagentbench.launch.suite import run_suite
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import line_hash, payload_of, whole_lines
from mlagentbench.runs.journal import EventLine, read_journal, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import (
    SuiteOutcome,
    find_run,
    read_grades,
    read_record,
    read_run,
    run_directories,
)
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow

BROKEN_GRADER = GRADE.replace("    answers =", "    1 / 0\n    answers =")
NOTHING_CHANGED = Changes()
Start = Callable[..., RunDirectory]


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Runs an agent once on the number task, and again when it is called again."""

    def run_once(agent: str = "oracle", grader: str = GRADE, **options: Any) -> RunDirectory:
        write_number_task(tmp_path, grade_py=grader)
        [result] = run_suite(_request(tmp_path, agent, **options), _console()).results
        return find_run(tmp_path / "out" / result.path)

    return run_once


def _request(tmp_path: Path, agent: str, **options: Any) -> SuiteRequest:
    return SuiteRequest.read(
        tasks=str(tmp_path / "numbers"),
        agents=agent,
        models="none",
        runs=1,
        out=tmp_path / "out",
        jobs=1,
        roles=[],
        prices=None,
        **options,
    )


def _console() -> Terminal:
    return Terminal(file=StringIO())


def resume(run: RunDirectory, said: list[str], **limits: Any) -> SuiteOutcome:
    return resume_runs([run.path], ResumeOptions.read(**limits), said.append, _console())


def branch(
    run: RunDirectory, step: int, runs: int, changes: Changes = NOTHING_CHANGED, **limits: Any
) -> list[RunDirectory]:
    how = ResumeOptions.read(**limits)
    outcome = branch_run(run.path, step, runs, changes, how, lambda _: None, _console())
    assert outcome.missing == 0
    return [find_run(outcome.out / result.path) for result in outcome.results]


def test_a_run_that_ran_out_of_budget_continues_when_it_is_raised(
    tmp_path: Path, start: Start, said: list[str]
) -> None:
    run = start(max_steps=1)
    before = run.journal.read_bytes()
    resume(run, said)
    assert run.journal.read_bytes() == before
    assert said == [f"{run.relative}: has ended (steps); to continue, raise --max-steps"]
    with pytest.raises(UsageError, match=r"--max-time 1: .* has 600; it can only be raised"):
        resume(run, said, max_time=1)
    record = read_record(run)
    changed = {"python_env": "0" * 64, "packages": record.disclosure.packages | {"numpy": "0.1"}}
    other = record.disclosure.model_copy(update=changed)
    change_record(run, record.model_copy(update={"disclosure": other}))
    before, first = run.journal.read_bytes(), run.run_json.read_bytes()
    outcome = resume(run, said, max_steps=7)
    assert run.run_json.read_bytes() == first
    assert run.journal.read_bytes().startswith(before) and faults(run) == []
    history = read_journal(run.journal)
    [noted] = [line.detail for line in history.events if line.event == "note"]
    assert "resumed with another numpy" in noted and "virtual environment" in noted
    assert [step.action.name for step in history.steps] == [
        "Write File",
        "Execute Script",
        "Final Answer",
    ]
    assert [line.detail for line in history.events if line.event == "limits"] == ["steps 1 -> 7"]
    [result] = outcome.results
    assert result.grade is not None and result.grade.valid and result.grade.step == 3
    facts = result.record.disclosure
    assert facts.limits["steps"] == 7
    assert facts.first_limits is not None and facts.first_limits["steps"] == 1
    again = run_suite(_request(tmp_path, "oracle", max_steps=1), _console())
    assert again.missing == 0 and [one.path for one in again.results] == [result.path]
    assert read_journal(run.journal).steps == history.steps


def test_a_run_that_only_lacks_its_grade_is_graded(
    tmp_path: Path, start: Start, said: list[str]
) -> None:
    run = start("baseline", grader=BROKEN_GRADER)
    assert read_run(run).grade is None and run.failure.is_file()
    before = run.journal.read_bytes()
    write_number_task(tmp_path)
    [result] = resume(run, said).results
    assert result.grade is not None and result.grade.valid and result.failure is None
    assert run.journal.read_bytes() == before
    score_runs([run.path], "all", said.append)
    assert len(read_grades(run)) == 4 and faults(run) == []


def test_equal_submissions_are_graded_once(start: Start, said: list[str]) -> None:
    run = start("oracle")
    [regraded] = score_runs([run.path], "all", said.append)
    with run.hold() as held:
        alone = [asyncio.run(grade_run(held, step)) for step in range(len(regraded.grades))]
    unlike = {"seconds": 0.0}
    assert [grade.model_copy(update=unlike) for grade in regraded.grades] == [
        grade.model_copy(update=unlike) for grade in alone
    ]
    graded = [text for text in said if text.startswith("grading")]
    assert len(graded) == len({(grade.score, grade.reason) for grade in alone}) < len(alone)
    assert faults(run) == []


def test_a_run_that_cannot_be_graded_is_named_and_the_others_are_graded(
    start: Start, said: list[str]
) -> None:
    lost, whole = start("oracle"), start("baseline")
    for run in (lost, whole):
        run.grades.unlink()
    snapshot = read_journal(lost.journal).steps[-1].snapshot
    (lost.objects / snapshot[:2] / snapshot[2:]).unlink()
    with pytest.raises(RunFailed, match=f"{snapshot[2:]} .* is missing; copy it from a backup"):
        branch(lost, 2, 1)
    assert [run.path for run in run_directories(lost.out)] == [whole.path, lost.path]
    outcome = resume_runs([lost.path, whole.path], ResumeOptions(), said.append, _console())
    assert [result.grade is None for result in outcome.results] == [True, False]
    assert outcome.missing == 1 and snapshot[2:] in str(outcome.results[0].failure)
    for steps in ("last", "changed"):
        first, second = score_runs([lost.path, whole.path], steps, said.append)
        assert snapshot[2:] in str(first.failure) and second.failure is None
        assert not first.grades and second.grades[-1].valid
    assert CliRunner().invoke(app, ["runs", "regrade", str(lost.path)]).exit_code == 1
    assert CliRunner().invoke(app, ["runs", "regrade", str(whole.path)]).exit_code == 0


def test_a_run_goes_on_with_its_own_task_alone_and_in_its_own_directory(
    tmp_path: Path, start: Start, said: list[str]
) -> None:
    run = start(max_steps=1)
    before = run.journal.read_bytes()
    toml = tmp_path / "numbers" / "task.toml"
    first_version = toml.read_text()
    toml.write_text(first_version.replace("version = 1", "version = 2"))
    for another in (lambda: resume(run, said, max_steps=9), lambda: branch(run, 0, 1)):
        with pytest.raises(UsageError, match=r"numbers version 1 on .* here is numbers version 2"):
            another()
    toml.write_text(first_version)
    assert run.journal.read_bytes() == before and not run.failure.exists()
    copied = tmp_path / "copy" / run.relative
    copied.mkdir(parents=True)
    (copied / "run.json").write_bytes(run.run_json.read_bytes())
    with pytest.raises(UsageError, match=r"/out and .*/copy are different --out directories"):
        resume_runs([run.path, copied], ResumeOptions(), said.append, _console())


def test_only_runs_of_agents_are_resumed(start: Start, said: list[str]) -> None:
    run = start("nop")
    replayed = read_record(run).model_copy(update={"origin": "replay", "replay_of": "elsewhere"})
    change_record(run, replayed)
    for another in (lambda: resume(run, said), lambda: branch(run, 0, 1)):
        with pytest.raises(UsageError, match="was imported or replayed; only runs of agents can"):
            another()


def test_an_agent_of_ones_own_and_a_recording_must_be_named_again(
    tmp_path: Path, start: Start, said: list[str]
) -> None:
    run = start("nop")
    record = read_record(run)
    run.journal.unlink()
    own = record.disclosure.model_copy(update={"agent": "mine"})
    change_record(run, record.model_copy(update={"disclosure": own}))
    with pytest.raises(UsageError, match=r"mine is not a built-in agent; pass --agent FILE.py"):
        resume(run, said)
    recorded = record.disclosure.model_copy(update={"recording": "0123456789abcdef"})
    change_record(run, record.model_copy(update={"disclosure": recorded}))
    with pytest.raises(UsageError, match=r"answered by the recording 0123456789ab, .* -M file="):
        resume(run, said)


def test_branches_share_the_history_and_go_on_with_seeds_of_their_own(start: Start) -> None:
    parent = start("baseline")
    first, second = branch(parent, step=0, runs=2)
    [shared, *_] = whole_lines(parent.journal)
    for run in (first, second):
        assert payload_of(whole_lines(run.journal)[0]) == payload_of(shared)
        assert faults(run) == []
        record = read_record(run)
        assert record.branched_from is not None and not record.branched_from.mixed
        assert record.branched_from.parent_hash == line_hash(shared)
        assert record.branched_from.run == parent.relative.as_posix()
        assert summarise(run, "out").cluster == summarise(parent, "out").cluster
    seeds = {read_record(run).seed for run in (parent, first, second)}
    assert len(seeds) == 3
    grades = [read_run(run).grade for run in (parent, first, second)]
    assert len({grade.score for grade in grades if grade is not None}) == 3
    before = first.journal.read_bytes()
    again = branch(parent, step=0, runs=2)
    assert [run.path for run in again] == [first.path, second.path]
    assert first.journal.read_bytes() == before
    shutil.rmtree(first.path)
    [anew] = branch(parent, step=0, runs=1)
    made_again = read_run(anew).grade
    assert anew.path == first.path and made_again is not None and grades[1] is not None
    assert made_again.score == grades[1].score


def test_an_altered_run_is_neither_resumed_nor_branched(start: Start, said: list[str]) -> None:
    run = start(max_steps=1)
    contents = run.journal.read_bytes()
    changed = contents.replace(b'"seconds":', b'"seconds":1', 1)
    assert changed != contents
    run.journal.write_bytes(changed)
    for another in (lambda: resume(run, said, max_steps=7), lambda: branch(run, 0, 1)):
        with pytest.raises(UsageError, match=r"line \d does not match its own hash: .*a backup"):
            another()
    assert said == []


def test_an_interrupted_branch_is_made_whole_by_the_same_command(
    start: Start, said: list[str]
) -> None:
    parent = start("baseline")
    [made] = branch(parent, step=0, runs=1)
    record = made.run_json.read_bytes()
    shutil.rmtree(made.path)
    made.create()
    made.run_json.write_bytes(record)
    with pytest.raises(UsageError, match="branching was interrupted; run the same branch command"):
        resume(made, said)
    [again] = branch(parent, step=0, runs=1)
    assert again.path == made.path and made.run_json.read_bytes() == record
    assert payload_of(whole_lines(made.journal)[0]) == payload_of(whole_lines(parent.journal)[0])
    assert faults(made) == [] and read_run(made).grade is not None


def test_another_agent_takes_over_with_an_edited_observation(tmp_path: Path, start: Start) -> None:
    parent = start("oracle")
    first, *others = read_lines(parent.journal)
    other_actions = first.model_copy(update={"actions": ("Read File",)})
    write_lines(parent, [other_actions, *others])
    changes = Changes(agent="baseline", observation="x" * 20_000)
    [run] = branch(parent, 1, 1, changes, max_steps=12)
    history = read_journal(run.journal, ObjectStore(run.objects))
    assert history.run is not None and "Execute Script" in history.run.actions
    assert history.steps[0].observation.text == changes.observation
    assert [step.action.name for step in history.steps] == [
        "Write File",
        "Execute Script",
        "Final Answer",
    ]
    assert history.steps[1].action.arguments["script_name"] == "train.py"
    assert history.taken_over == 1
    kinds = [line.event for line in read_lines(run.journal) if isinstance(line, EventLine)]
    assert kinds == ["taken over", "edited", "resumed"]
    result = read_run(run)
    assert result.record.disclosure.limits["steps"] == 12
    assert result.record.disclosure.first_limits is None
    point = result.record.branched_from
    assert point is not None and point.edited is not None and point.mixed
    [mixed, own] = cell_statistics([summarise(one, "out") for one in (parent, run)])
    assert (own.key.agent, mixed.key.agent) == ("oracle", "baseline, mixed history")
    with pytest.raises(UsageError, match=r"the first 1 steps .* come from runs/.*; branch that"):
        branch(run, 1, 1)


def test_steps_that_cannot_be_branched_from_are_named(start: Start) -> None:
    parent = start("nop")
    with pytest.raises(UsageError, match=r"--step 4: the last step of .* is 1"):
        branch(parent, 4, 1)
    with pytest.raises(UsageError, match="--step 1 submits"):
        branch(parent, 1, 1)
    with pytest.raises(UsageError, match="--edit-observation needs a step"):
        branch(parent, 0, 1, Changes(observation="other"))
    with pytest.raises(UsageError, match="agent act needs a model: --model PROVIDER/NAME"):
        branch(parent, 0, 1, Changes(agent="act"))
    cut_off = start("oracle", max_steps=1)
    with pytest.raises(UsageError, match=r"--step 1: .* used all of its limit on steps; .*-steps"):
        branch(cut_off, 1, 1)
    [longer] = branch(cut_off, 1, 1, max_steps=3)
    assert len(read_journal(longer.journal).steps) == 3
