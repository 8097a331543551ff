import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from chains import faults
from legacy_logs import (
    ARGUMENTS,
    CRASH,
    USUAL_FILES,
    USUAL_STEPS,
    main_log,
    reply,
    step,
    step_log,
    usual_main_log,
    write_log,
)
from number_task import write_number_task
from typer.testing import CliRunner

from mlagentbench.analysis.analyse import summarise
from mlagentbench.cli import app
from mlagentbench.errors import UsageError
from mlagentbench.grading.grade import grade_run
from mlagentbench.legacy.import_runs import (
    TOO_DEEP,
    ImportChoices,
    ImportedLog,
    import_logs,
)
from mlagentbench.legacy.observation_status import observation_of, our_name
from mlagentbench.legacy.original_log import read_log
from mlagentbench.legacy.original_replies import match_replies, read_replies
from mlagentbench.records import GradeRecord, Observation
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import entry_at, materialise, store_directory, walk
from mlagentbench.runs.results import RunResult, collect, find_run, read_grades, read_run
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.python_env.env import ensure_python_env
from mlagentbench.tasks.task import load_folder


def imported(logs: Path, out: Path, **choices: str) -> list[ImportedLog]:
    return list(import_logs(logs, out, ImportChoices(**choices)))


def only_run(out: Path) -> RunResult:
    (result,) = collect(out)
    return result


def history_of(out: Path, result: RunResult) -> History:
    return read_journal(out / result.path / "journal.jsonl", ObjectStore(out / "objects"))


def tree_of(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_run_becomes_a_run_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (result,) = imported(write_log(tmp_path / "logs" / "run1"), out)
    assert result.is_new
    assert result.words == "4 steps, 4 replies, ended: submitted"
    directory = find_run(out / (result.run or ""))
    assert faults(directory) == []
    run = read_run(directory)
    facts = run.record.disclosure
    assert run.path.startswith("runs/house-price/full/legacy-research-")
    assert run.path.endswith("/claude-v1/1")
    assert run.record.origin == "legacy"
    assert run.record.created == "2023-11-14T22:13:15+00:00"
    assert (facts.model, facts.roles["fast"]) == ("claude-v1", "claude-instant")
    assert facts.limits["steps"] == 50
    assert facts.data_hash.startswith("legacy:")
    assert (facts.sandbox, facts.isolation) == ("none (original)", "none")
    assert (facts.hardware, facts.python_env, facts.task_version) == ({}, "unknown", 0)


def test_steps_replies_and_times_are_in_the_journal(tmp_path: Path) -> None:
    imported(write_log(tmp_path / "run1"), tmp_path / "out")
    result = only_run(tmp_path / "out")
    history = history_of(tmp_path / "out", result)
    assert [one.action.name for one in history.steps] == [
        "List Files",
        "Edit Script (AI)",
        "Execute Script",
        "Final Answer",
    ]
    assert history.steps[2].observation.text.endswith("mae 0.5\n")
    assert [(one.step, one.role) for one in history.replies] == [(n, "main") for n in (1, 2, 3, 4)]
    assert history.replies[1].reply == reply("Edit Script (AI)", USUAL_STEPS[1]["action"]["args"])
    assert [one.seconds for one in history.steps] == [15.0, 30.0, 30.0, 30.0]
    assert result.usage.seconds == 105.0
    assert history.undo.keys() == {"train.py"}
    assert result.outcome is not None
    assert result.outcome.kind == "submitted"


def test_every_step_has_its_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    imported(write_log(tmp_path / "run1"), out)
    history = history_of(out, only_run(out))
    store = ObjectStore(out / "objects")
    for number, files in enumerate(USUAL_FILES):
        snapshot = history.steps[number].snapshot
        found = {path for path, entry in walk(store, snapshot) if entry.kind == "file"}
        assert found == set(files)
    copied = tmp_path / "copied"
    materialise(store, history.steps[2].snapshot, copied, ["submission.csv"])
    assert (copied / "submission.csv").read_text() == "id,y\n1,1\n"


def test_the_files_at_the_end_are_those_that_count(tmp_path: Path) -> None:
    log = write_log(tmp_path / "run1")
    final = log / "env_log" / "traces" / "step_final_files"
    final.mkdir()
    (final / "submission.csv").write_text("the last one")
    imported(log, tmp_path / "out")
    history = history_of(tmp_path / "out", only_run(tmp_path / "out"))
    store = ObjectStore(tmp_path / "out" / "objects")
    entry = entry_at(store, history.snapshot or "", "submission.csv")
    assert entry is not None
    assert store.read(entry.value) == b"the last one"


def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_log(tmp_path / "logs" / "run1")
    imported(tmp_path / "logs", out)
    before = tree_of(out)
    (again,) = imported(tmp_path / "logs", out, model="another")
    assert (again.is_new, again.words) == (False, "already imported")
    assert again.run == only_run(out).path
    assert tree_of(out) == before


def test_many_runs_in_one_tree_and_a_later_one(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    write_log(logs / "a" / "run1")
    write_log(logs / "a" / "deep" / "run2", USUAL_STEPS[:3], USUAL_FILES[:3])
    assert [one.is_new for one in imported(logs, out)] == [True, True]
    write_log(logs / "z", USUAL_STEPS[:2], USUAL_FILES[:2])
    assert [one.is_new for one in imported(logs, out)] == [False, False, True]
    results = collect(out)
    assert [result.record.epoch for result in results] == [1, 2, 3]
    assert len({result.path.rpartition("/")[0] for result in results}) == 1
    assert [path.name for path in out.iterdir() if path.name.startswith("importing")] == []


@pytest.mark.parametrize("damage", ["cut", "no steps", "no trace", "a list"])
def test_a_damaged_run_is_reported_and_the_others_are_there(tmp_path: Path, damage: str) -> None:
    write_log(tmp_path / "logs" / "good")
    trace = write_log(tmp_path / "logs" / "bad") / "env_log" / "trace.json"
    text = trace.read_text()
    match damage:
        case "cut":
            trace.write_text(text[: len(text) // 2])
        case "no steps":
            trace.write_text('{"steps": []}')
        case "no trace":
            trace.unlink()
        case "a list":
            trace.write_text("[1, 2]")
    bad, good = imported(tmp_path / "logs", tmp_path / "out")
    assert (bad.source.name, bad.run) == ("bad", None)
    assert "trace.json" in bad.words
    assert good.run == only_run(tmp_path / "out").path


def test_a_log_with_nothing_but_its_steps_is_unknown_in_all_else(tmp_path: Path) -> None:
    steps = [{"action": {"name": "Execute Script"}}, {"action": {"name": "List Files"}}]
    log = write_log(tmp_path / "run1", steps, [], log="", seconds=None, arguments=None)
    (result,) = imported(log, tmp_path / "out", task="house-price")
    run = only_run(tmp_path / "out")
    facts = run.record.disclosure
    assert (facts.agent, facts.model, facts.limits) == ("legacy-unknown", "unknown", {})
    assert run.record.created == "unknown"
    assert run.outcome is not None
    assert run.outcome.kind == "interrupted"
    assert result.words == "2 steps, 0 replies, ended: interrupted"


def test_the_task_is_taken_from_the_path_or_asked_for(tmp_path: Path) -> None:
    write_log(tmp_path / "amp-parkinsons-disease-progression-prediction_1" / "x", arguments=None)
    write_log(tmp_path / "CLRS" / "y", USUAL_STEPS[:1], arguments=None)
    write_log(tmp_path / "elsewhere", USUAL_STEPS[:2], arguments=None)
    known = {one.source.name: one for one in imported(tmp_path, tmp_path / "out")}
    assert (known["x"].run or "").startswith("runs/parkinsons-disease/full/legacy-unknown-")
    assert (known["y"].run or "").startswith("runs/clrs/")
    assert known["elsewhere"].words.endswith("pass --task ID")


def test_what_a_person_says_goes_over_what_the_logs_say(tmp_path: Path) -> None:
    imported(write_log(tmp_path / "run1"), tmp_path / "out", agent="mine", model="a/b")
    run = only_run(tmp_path / "out")
    assert run.record.disclosure.agent == "legacy-mine"
    assert run.path.endswith("/a_b/1")


@pytest.mark.parametrize(
    ("error", "kind", "cause"),
    [
        ("Traceback ...\nopenai.error.APIError: overloaded", "failed", "model"),
        ("Traceback ...\nOSError: disk", "failed", "harness"),
        ("MLAgentBench.schema.TooLongPromptError", "context", None),
        ("", "failed", "harness"),
    ],
)
def test_an_error_of_the_harness_has_its_cause(
    tmp_path: Path, error: str, kind: str, cause: str | None
) -> None:
    outcome = read_log(write_log(tmp_path / "run1", error=error)).outcome
    assert (outcome.kind, outcome.cause) == (kind, cause)


@pytest.mark.parametrize(
    ("max_steps", "seconds", "kind", "detail"),
    [
        (2, 105.0, "steps", ""),
        (50, 105.0, "steps", "ended early, without an answer, for unknown reasons"),
        (50, 20000.0, "time", ""),
        (50, None, "interrupted", "the log has no end"),
    ],
)
def test_a_run_without_an_answer_ended_by_a_limit_or_was_stopped(
    tmp_path: Path, max_steps: int, seconds: float | None, kind: str, detail: str
) -> None:
    arguments = {**ARGUMENTS, "max_steps": max_steps}
    log = write_log(tmp_path / "run1", USUAL_STEPS[:2], seconds=seconds, arguments=arguments)
    outcome = read_log(log).outcome
    assert (outcome.kind, outcome.detail) == (kind, detail)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Execute Script", CRASH, {"status": "error"}),
        ("Execute Script", f"{CRASH}and then it went on\n", {"status": "ok"}),
        ("Read File", CRASH, {"status": "ok"}),
        ("Fly", "Invalid action: Fly. Use one", {"status": "error", "fault": "unknown action"}),
        (
            "Read File",
            "EnvError: The action input for Read File needs to be a valid json with",
            {"status": "error", "fault": "bad arguments"},
        ),
        ("Read File", "EnvError: cannot read file x", {"status": "error"}),
        ("Write File", "EnvError: cannot write: it is a read-only file.", {"status": "refused"}),
        ("List Files", "The environment has shut down because", {"status": "interrupted"}),
    ],
)
def test_the_status_of_a_step_is_read_from_its_text(
    tmp_path: Path, name: str, text: str, expected: dict[str, str]
) -> None:
    (one,) = read_log(write_log(tmp_path / "run1", [step(name, {}, text)])).steps
    assert observation_of(one) == Observation(text=text, **expected)  # type: ignore[arg-type]


def test_actions_get_our_names() -> None:
    assert our_name("edit script (ai)") == "Edit Script (AI)"
    assert our_name("Edit Script") == "Edit Script (AI)"
    assert our_name("Fly") == "Fly"


def test_arguments_that_are_no_object_are_kept(tmp_path: Path) -> None:
    steps = [step("Read File", "train.py"), step("Final Answer", "Done!")]
    first, last = read_log(write_log(tmp_path / "run1", steps)).steps
    assert first.arguments == {"input": "train.py"}
    assert last.arguments == {"final_answer": "Done!"}


def test_replies_find_their_steps_past_unreadable_ones_and_steps_of_the_agents_own(
    tmp_path: Path,
) -> None:
    steps = [
        step("List Files"),
        step("Append Summary to Research Log"),
        step("Retrieval from Research Log"),
        step("Execute Script", {"script_name": "train.py"}),
    ]
    log = main_log(
        (reply("List Files", {}), "train.py"),
        ("Thought: x\nAction: Execute Script\nAction Input: {oops", "ActionInputParsingError: no"),
        (reply("Execute Script", {}, "Step 9:\nI run it.\nObservation: it will work"), "fine"),
        (reply("Final Answer", {}), "end"),
    )
    run = read_log(write_log(tmp_path / "run1", steps, log=log))
    matched = match_replies(read_replies(run), run.steps)
    assert {number: len(given) for number, given in matched.by_step.items()} == {1: 1, 4: 2}
    assert [one.fault for one in matched.by_step[4]] == ["json", None]
    assert "I run it." in matched.by_step[4][1].text
    assert (matched.matched, matched.unmatched) == (3, 1)
    imported(tmp_path / "run1", tmp_path / "out")
    history = history_of(tmp_path / "out", only_run(tmp_path / "out"))
    (event,) = [event for event in history.events if event.event == "unreadable"]
    assert (event.form, history.replies[1].n) == ("json", event.reply)
    assert any("1 replies of main_log fit no step" in event.detail for event in history.events)


def test_replies_that_the_original_discarded_count_as_unreadable(tmp_path: Path) -> None:
    """Before the first step, before one whose number repeats, and at the end of the run."""
    oops = "Thought: x\nAction: Execute Script\nAction Input: {oops"
    run_it, listed = reply("Execute Script", {"script_name": "train.py"}), reply("List Files", {})
    log = main_log((listed, "train.py"), (oops, "ActionInputParsingError: no"), (run_it, "fine"))
    log = log.replace("Step 2:", "Step 1:")
    steps = [step("List Files"), step("Execute Script", {"script_name": "train.py"})]
    step_logs = {
        0: step_log(["I shall list the files.", "", listed]),
        1: step_log([oops], [reply("Fly", {}), run_it]),
        2: step_log(["I am"] * 5),
    }
    out = tmp_path / "out"
    source = write_log(tmp_path / "logs" / "run1", steps, log=log, step_logs=step_logs)
    [result] = imported(source, out)
    assert result.words == "2 steps, 11 replies, ended: steps"
    history = history_of(out, only_run(out))
    said = {one.n: one for one in history.replies}
    unreadable = [
        (said[event.reply or 0].step, event.form)
        for event in history.events
        if event.event == "unreadable"
    ]
    first = [(1, "fields"), (1, "empty"), (2, "json"), (2, "action")]
    assert unreadable == [*first, *[(3, "fields")] * 5]
    assert said[max(said)].reply == "I am"
    findings = summarise(find_run(out / (result.run or "")), "out").process.findings
    assert len([one for one in findings if one.kind == "unreadable-reply"]) == 9


def test_a_main_log_of_another_form_has_no_replies(tmp_path: Path) -> None:
    chain = "> Entering new chain\nThought: x\nAction: List Files\n"
    logs = {"chain": chain, "usual": usual_main_log()}
    replies = {
        name: read_replies(
            read_log(write_log(tmp_path / name, log=log, step_logs={0: step_log(["x"])}))
        )
        for name, log in logs.items()
    }
    assert replies["chain"] == []
    assert len(replies["usual"]) == 4


def test_a_long_observation_is_read_back_whole(tmp_path: Path) -> None:
    text = "x" * 40_000
    imported(write_log(tmp_path / "run1", [step("List Files", {}, text)]), tmp_path / "out")
    (one,) = history_of(tmp_path / "out", only_run(tmp_path / "out")).steps
    assert one.observation.text == text


def test_halves_of_characters_and_undoing_what_was_never_edited_do_no_harm(tmp_path: Path) -> None:
    log = write_log(tmp_path / "run1", [step("Undo Edit Script", {"script_name": "a.py"})])
    trace = log / "env_log" / "trace.json"
    trace.write_text(trace.read_text().replace("done", "\\ud83d"))
    imported(log, tmp_path / "out")
    (one,) = history_of(tmp_path / "out", only_run(tmp_path / "out")).steps
    assert one.observation.text == "?"


@pytest.mark.parametrize("time", [1e308, -5, True, "nan", "soon", None, [1]])
def test_times_that_cannot_be_are_unknown(tmp_path: Path, time: object) -> None:
    steps = [{**one, "timestamp": time} for one in USUAL_STEPS]
    imported(write_log(tmp_path / "run1", steps), tmp_path / "out")
    run = only_run(tmp_path / "out")
    assert run.record.created == "unknown"
    assert run.usage.seconds == 105.0


def test_names_that_no_directory_can_bear_are_unknown(tmp_path: Path) -> None:
    arguments = {**ARGUMENTS, "llm_name": "..", "agent_type": "a\nb", "max_steps": "many"}
    imported(write_log(tmp_path / "run1", arguments=arguments), tmp_path / "out")
    facts = only_run(tmp_path / "out").record.disclosure
    assert (facts.model, facts.agent, facts.limits["steps"]) == ("unknown", "legacy-unknown", None)


def test_runs_that_saw_other_data_have_another_hash(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    write_log(logs / "a")
    write_log(logs / "b", USUAL_STEPS[:3], USUAL_FILES[:3])
    other = [{**files, "train.csv": "x,y\n9,9\n"} for files in USUAL_FILES]
    write_log(logs / "c", [step("List Files"), *USUAL_STEPS], other)
    hashes = [
        read_run(find_run(out / (one.run or ""))).record.disclosure.data_hash
        for one in imported(logs, out)
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_stored_directory_has_the_files_links_and_modes_of_the_original(tmp_path: Path) -> None:
    source, store = tmp_path / "source", ObjectStore(tmp_path / "objects")
    (source / "folder").mkdir(parents=True)
    (source / "folder" / "big").write_bytes(b"\0" * 5_000_000)
    (source / "run.sh").write_text("ls\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("run.sh")
    snapshot = store_directory(store, source)
    store.commit()
    found = {path: (entry.kind, entry.mode) for path, entry in walk(store, snapshot)}
    assert found["folder/big"][0] == "file"
    assert found["run.sh"] == ("file", 0o755)
    assert found["link"][0] == "link"
    assert store_directory(store, source) == snapshot


def test_imported_runs_are_missing_from_rates_until_they_are_graded(tmp_path: Path) -> None:
    imported(write_log(tmp_path / "run1"), tmp_path / "out")
    cause = cause_of(only_run(tmp_path / "out"))
    assert cause.verdict == "missing"
    assert "test data differ from ours" in cause.reason


def test_what_the_logs_do_not_count_is_unknown_in_the_figures(tmp_path: Path) -> None:
    imported(write_log(tmp_path / "run1"), tmp_path / "out")
    summary = summarise(find_run(tmp_path / "out" / only_run(tmp_path / "out").path), "out")
    took = summary.efficiency
    assert summary.result.record.origin == "legacy"
    assert (took.tokens, took.cost, took.script_seconds, took.roles) == (None, None, None, ())
    assert (took.steps, took.working_seconds) == (4, 105.0)
    grade = GradeRecord(step=4, valid=True, score=1.0, success=True, normalised=1.0)
    graded = summary.model_copy(
        update={"result": summary.result.model_copy(update={"grade": grade})}
    )
    (cell,) = cell_statistics([graded])
    assert (cell.counted, cell.tokens.mean, cell.tokens_per_success) == (1, None, None)
    row = next(
        row for row in leaderboards([cell])[0].rows if row.agent.startswith("legacy-research")
    )
    assert (row.successes, row.tokens, row.tokens_per_success) == (1, None, None)


def test_a_program_task_and_data_that_are_not_here_cannot_be_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    out = tmp_path / "out"
    for task, expected in (("house-price", "--tier full"), ("vectorization", "another form")):
        log = write_log(tmp_path / task, arguments={**ARGUMENTS, "task": task, "n": task})
        trace = log / "env_log" / "trace.json"
        trace.write_text(trace.read_text() + " " * len(task))
        (result,) = imported(log, out)
        with pytest.raises(UsageError, match=expected):
            asyncio.run(grade_run(find_run(out / (result.run or ""))))


@pytest.mark.slow
def test_a_submission_is_graded_only_where_it_fits_our_data(
    tmp_path: Path, with_shared_home: Path
) -> None:
    task = load_folder(write_number_task(tmp_path / "tasks"))
    env = asyncio.run(ensure_python_env(task.spec.python.requirements, announce=print))
    data = asyncio.run(prepare(task, "full", call=call_task, python_env=env))
    rows = (data.public / "test.csv").read_text().splitlines()[1:]
    fitting = "id,y\n" + "".join(f"{row.split(',')[0]},0\n" for row in rows)
    files = [{}, {"submission.csv": fitting}, {"submission.csv": "id,y\nzz,1\n"}]
    log = write_log(tmp_path / "run1", USUAL_STEPS[:3], files)
    for number in range(3):
        (log / "env_log" / "traces" / f"step_{number}_files").mkdir(exist_ok=True)
    (result,) = imported(log, tmp_path / "out", task=str(task.folder))
    run = find_run(tmp_path / "out" / (result.run or ""))
    missing, graded = asyncio.run(grade_run(run, 1)), asyncio.run(grade_run(run, 2))
    assert (missing.valid, missing.score) == (False, None)
    assert graded.valid
    assert "graded on our test set" in graded.extra["warning"]
    with pytest.raises(UsageError, match="does not fit"):
        asyncio.run(grade_run(run, 3))
    assert len(read_grades(run)) == 2 and faults(run) == []


def test_the_command_says_what_became_of_each_run(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    write_log(logs / "good")
    arguments = ["runs", "import", str(logs), "--out", str(out)]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0
    assert "good -> runs/house-price/full/legacy-research-" in said.output
    (logs / "bad" / "env_log").mkdir(parents=True)
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 1
    assert "bad: not imported: env_log has no trace.json" in said.output


def test_a_directory_without_logs_is_a_persons_mistake(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError):
            imported(place, tmp_path / "out")


def test_links_out_of_the_logs_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "diary.txt").write_text("nobody's business")
    env_log = write_log(tmp_path / "logs" / "run1", files=()) / "env_log"
    (env_log / "traces").mkdir()
    for name in ("step_0_files", "step_final_files"):
        (env_log / "traces" / name).symlink_to(elsewhere)
    (env_log / "error.txt").symlink_to(elsewhere / "diary.txt")
    out = tmp_path / "out"
    (result,) = imported(tmp_path / "logs", out)
    assert result.words == "4 steps, 4 replies, ended: submitted"
    stored = [file.read_bytes() for file in out.rglob("*") if file.is_file()]
    assert not any(b"diary" in contents or b"business" in contents for contents in stored)


@pytest.mark.slow
def test_files_nested_too_deeply_cost_only_their_own_run(tmp_path: Path) -> None:
    deep = write_log(tmp_path / "logs" / "deep") / "env_log" / "traces" / "step_0_files"
    place = os.open(deep, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=place)
        place, above = os.open("d", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(place)
    write_log(tmp_path / "logs" / "good")
    bad, good = imported(tmp_path / "logs", tmp_path / "out")
    subprocess.run(["rm", "-r", deep], check=True)  # what cleans up after tests is recursive, too
    assert (bad.run, bad.words) == (None, TOO_DEEP)
    assert good.run == only_run(tmp_path / "out").path
