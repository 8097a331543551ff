"""Runs that are rebuilt on fresh draws: cheats lose their score, and nothing is done twice."""

import asyncio
import csv
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from chains import change_record, faults
from command_line import COMMAND
from number_task import MAKE, SOLUTION, STARTER, write_number_task
from typer.testing import CliRunner

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.rebuilt_text import rebuilt_facts
from mlagentbench.cli import app
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively
from mlagentbench.grading.grade import grade_run
from mlagentbench.grading.regrade import score_runs
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import check_requirements, run_suite
from mlagentbench.rebuild.rebuild_draw import compared
from mlagentbench.rebuild.rebuild_run import grade_step, rebuild_runs
from mlagentbench.rebuild.score_of_record import grade_of_record, mean_bar, rebuilt_of
from mlagentbench.records import REBUILD, Action, BarComparison, GradeRecord, Outcome, RebuiltDraw
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.fresh_key import fresh_key, key_of_run
from mlagentbench.runs.rebuilds import DrawLine, SummaryLine, newest_rebuilt, read_rebuilds
from mlagentbench.runs.results import find_run, read_grades, read_record, read_run
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.tasks.draws import FreshKey, draw_seed, fresh_draws
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import (
    Measured,
    Metric,
    ReferenceMeasurements,
    StarterMeasurements,
)
from mlagentbench.tasks.stored_measurements import store_in_home, stored_measurements
from mlagentbench.tasks.task import Task, load_folder, load_task
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow

DRAWS = 2
KEY = FreshKey(value="6" * 32)
"""The same in all tests, so that fresh draws are measured once."""
FRESH = fresh_draws("public", 9, key=KEY)
RUN = "python {}\n".format
CACHED = STARTER.replace(
    "slope = 1 + random.gauss(0, 0.02)",
    "import pathlib\nfound = pathlib.Path('answers.pkl')\n"
    "known = found.read_text().split() if found.exists() else []",
).replace("{slope * float(row['x'])}", "{known[int(row['id'])] if known else 0}")
Ran = Callable[..., RunDirectory]


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


@pytest.fixture
def task(tmp_path: Path) -> Task:
    calm = STARTER.replace("random.gauss(0, 0.02)", "0")  # measured with few runs
    return load_folder(write_number_task(tmp_path, starter=calm))


@pytest.fixture
def truth(task: Task) -> dict[str, str]:
    """The answers of the given draw by id."""
    private = ensure_ready(task, "mini", call=call_task).data.private
    _canary, *table = (private / "answers.csv").read_text().splitlines()
    return {row["id"]: row["y"] for row in csv.DictReader(table)}


@pytest.fixture
def ran(tmp_path: Path, task: Task) -> Ran:
    """A run that wrote these files and executed a script, under a protocol."""

    def run(files: Mapping[str, str], script: str = "", protocol: str = REBUILD) -> RunDirectory:
        ensure_ready(task, "mini", call=call_task)
        create_exclusively(tmp_path / "out" / "fresh-draws.key", KEY.value.encode())
        directory = asyncio.run(_acted(task, tmp_path / "out", files, script))
        record = read_record(directory)
        changed = {"protocol": protocol, "rebuild_draws": DRAWS if protocol == REBUILD else None}
        facts = record.disclosure.model_copy(update=changed)
        change_record(directory, record.model_copy(update={"disclosure": facts}))
        return directory

    return run


async def _acted(task: Task, out: Path, files: Mapping[str, str], script: str) -> RunDirectory:
    async with Environment.open(task, out) as environment:
        for name, text in files.items():
            written = {"file_name": name, "content": text}
            await environment.execute(Action(name="Write File", arguments=written))
        if script:
            ran = {"script_name": script}
            seen = await environment.execute(Action(name="Execute Script", arguments=ran))
            assert seen.status == "ok", seen.text
        environment.finish(Outcome(kind="submitted"))
    return environment.run


def graded(run: RunDirectory) -> GradeRecord:
    with run.hold() as held:
        return asyncio.run(grade_step(held, None, lambda _: None))


def predictions(truth: Mapping[str, str]) -> str:
    return "\n".join(["id,y", *(f"{name},{y}" for name, y in truth.items())]) + "\n"


def cheats(truth: Mapping[str, str], public: Path) -> dict[str, dict[str, str]]:
    """Files of runs whose submission is as good as it can be, and that do not solve the task."""
    by_x = {row["x"]: truth[row["id"]] for row in csv.DictReader((public / "test.csv").open())}
    climbed = STARTER.replace("slope = 1", f"fitted = {by_x!r}\nslope = 1").replace(
        "{slope * float(row['x'])}", "{fitted.get(row['x'], slope * float(row['x']))}"
    )
    pasted = f"open('submission.csv', 'w').write({predictions(truth)!r})"
    return {
        "climbed the given draw": {"train.py": climbed},
        "predictions as literals": {"train.py": pasted},
        "a cached answer": {"train.py": CACHED, "answers.pkl": "\n".join(truth.values())},
        "another program": {"submission.csv": predictions(truth), "train.py": STARTER},
    }


@pytest.mark.parametrize(
    "name",
    ["climbed the given draw", "predictions as literals", "a cached answer", "another program"],
)
def test_cheats_lose_their_score(name: str, task: Task, ran: Ran, truth: dict[str, str]) -> None:
    public = ensure_ready(task, "mini", call=call_task).data.public
    files = cheats(truth, public)[name]
    script = "" if name == "another program" else "reproduce.sh"
    run = ran({**files, "reproduce.sh": RUN("train.py")}, script)
    grade = graded(run)
    rebuilt = grade.rebuilt
    assert rebuilt is not None and rebuilt.submitted_normalised is not None
    assert rebuilt.submitted_normalised > 1, "the submitted file is perfect"
    assert grade.success is False and (grade.normalised or 0.0) < 0.2
    assert grade.paper_success is False, "the paper's rule, too, is about fresh draws"
    assert grade.normalised == rebuilt.mean and len(rebuilt.fresh) == DRAWS
    assert grade.score == rebuilt.given.score
    [point] = summarise(run, "out").points
    assert point.normalised == rebuilt.submitted_normalised, "earlier steps are not rebuilt either"
    if name in ("climbed the given draw", "predictions as literals"):
        assert (rebuilt.transfer_gap or 0.0) > 0.8 and rebuilt.difference is None
    else:
        assert "100 of 100 rows differ" in (rebuilt.difference or "")


def test_a_solution_keeps_its_score_and_the_starter_has_none(task: Task, ran: Ran) -> None:
    table = "\n".join(map(str, range(4000)))
    files = {"solve.py": SOLUTION, "reproduce.sh": RUN("solve.py"), "table.txt": table}
    run = ran(files, "solve.py")
    grade = graded(run)
    assert grade.success and grade.normalised == pytest.approx(1.0, abs=0.05)
    assert grade.rung == "success" and "no two runs on the public draw" in (grade.rung_note or "")
    assert grade.rebuilt is not None and grade.rebuilt.difference is None
    assert [one.draw for one in grade.rebuilt.fresh] == FRESH[:2]
    seeds = [one.seed for one in (grade.rebuilt.given, *grade.rebuilt.fresh)]
    assert seeds[0] is None and seeds[1:] == [
        f"{draw_seed(load_folder(task.folder), 'mini', one, key=KEY):032x}" for one in FRESH[:2]
    ]
    assert len({one.data_hash for one in (grade.rebuilt.given, *grade.rebuilt.fresh)}) == 3
    assert len({one.floor for one in grade.rebuilt.fresh}) == 2, "each draw has its own floor"
    before = run.rebuilds.read_bytes()
    [regraded] = score_runs([run.path], "last", lambda _: None, grade_step)
    assert regraded.grades[0].normalised == grade.normalised and faults(run) == []
    assert run.rebuilds.read_bytes() == before, "known draws are not rebuilt again"
    [cell] = cell_statistics([summarise(run, "out")])
    assert cell.normalised.mean == grade.normalised
    assert any("rebuilt on 2 fresh draws" in mark for mark in cell.marks)
    assert "large literals in the sources of 1 run" in cell.marks


def test_what_does_not_run_on_fresh_data_counts_as_the_floor(ran: Ran) -> None:
    only_here = 'grep -q "$(head -c 40 test.csv | md5sum)" known.txt || exit 4\npython solve.py\n'
    files = {"solve.py": SOLUTION, "known.sh": "head -c 40 test.csv | md5sum > known.txt"}
    run = ran({**files, "reproduce.sh": only_here}, "known.sh")
    grade = graded(run)
    assert not grade.valid and grade.score is None and grade.success is False
    assert grade.paper_success is False and grade.paper_improvement is None
    reason = "not reproduced on any of 2 fresh draws: `bash reproduce.sh` failed: exit status 4"
    assert (grade.reason or "").startswith(reason)
    assert grade.rebuilt is not None and grade.rebuilt.given.score is not None
    assert grade.rebuilt.mean == 0.0


def test_a_run_that_left_no_program_is_rebuilt_by_what_its_journal_suggests(
    ran: Ran, tmp_path: Path
) -> None:
    files = {"solve.py": SOLUTION, "late.py": "while time.time() < end:\n    pass"}
    run = ran(files, "solve.py", protocol="standard")
    with run.hold() as held:
        grade = asyncio.run(grade_run(held))
    result = CliRunner().invoke(app, ["runs", "rebuild", str(run.path), "--draws", "1"])
    assert result.exit_code == 0, result.output
    assert "python solve.py (proposed: the agent did not leave it)" in result.output
    assert FRESH[0] in result.output and "transfer gap:" in result.output
    assert "late.py, line 1: a loop ends by the clock" in result.output
    rebuilt = read_run(run).rebuilt
    assert rebuilt is not None and rebuilt.proposed and rebuilt.success
    assert rebuilt.submitted_score == grade.score
    assert read_grades(run) == [grade], "the grade of a run under another protocol stays"
    shown = CliRunner().invoke(app, ["runs", "show", str(run.path)])
    assert "rebuilt on 1 fresh draw:" in shown.output
    site = tmp_path / "site"
    CliRunner().invoke(app, ["report", str(run.out), "--to", str(site), "--csv"])
    [page] = (site / "runs").glob("*.html")
    assert "Rebuilt on 1 fresh draw" in page.read_text()
    [row] = csv.DictReader((site / "tables" / "runs.csv").open())
    assert float(row["transfer_gap"]) == rebuilt.transfer_gap and row["rebuild_draws"] == "1"
    [other] = rebuild_runs([run.path], 1, "python train.py", lambda _: None)
    assert other.rebuilt is not None and other.rebuilt.command == "python train.py"
    assert other.rebuilt.mean < 0.2


@pytest.mark.parametrize("script", ["/workspace/solve.py", "sub/../solve.py"])
def test_a_script_is_proposed_by_its_path_in_the_workspace(script: str, ran: Ran) -> None:
    run = ran({"solve.py": SOLUTION, "sub/x.py": ""}, script, protocol="standard")
    [one] = rebuild_runs([run.path], 1, None, lambda _: None)
    assert one.rebuilt is not None and one.rebuilt.command == "python solve.py"
    assert one.rebuilt.success


def test_an_out_has_one_key_for_runs_of_all_protocols(ran: Ran, tmp_path: Path) -> None:
    disclosing = ran({"solve.py": SOLUTION, "reproduce.sh": RUN("solve.py")}, "solve.py")
    record = read_record(disclosing)
    facts = record.disclosure.model_copy(update={"fresh_key": "12" * 32})
    change_record(disclosing, record.model_copy(update={"disclosure": facts}))
    plain = record.disclosure.model_copy(update={"protocol": "standard"})
    with pytest.raises(UsageError, match=r"is not the key that runs below .* disclosed"):
        key_of_run(tmp_path / "out", load_task(record.task_path), plain)


def test_draws_are_rebuilt_again_only_if_asked_for(task: Task, ran: Ran) -> None:
    run = ran({"solve.py": SOLUTION, "reproduce.sh": RUN("solve.py")}, "solve.py")
    grade = graded(run)
    [other] = rebuild_runs([run.path], 1, "python train.py", lambda _: None)
    assert other.rebuilt is not None and other.rebuilt.asked_for and not other.rebuilt.proposed
    assert "python train.py (given by --command)" in dict(rebuilt_facts(other.rebuilt)).values()
    result = read_run(run)
    assert result.rebuilt == grade.rebuilt, "reports show what the grade is made of"
    lines = [line for line in read_rebuilds(run.rebuilds) if isinstance(line, DrawLine)]
    assert len(lines) == 5 and len({line.snapshot for line in lines} - {""}) == 1
    [again] = rebuild_runs([run.path], 1, "python train.py", lambda _: None, again=True)
    assert again.rebuilt is not None and faults(run) == []
    lines = [line for line in read_rebuilds(run.rebuilds) if isinstance(line, DrawLine)]
    assert len(lines) == 7
    stored = stored_measurements(task, "mini", lines[0].result.data_hash)
    assert stored is not None
    reference = stored.reference.model_copy(update={"mean": 2 * stored.reference.mean})
    moved = stored.model_copy(update={"reference": reference})
    store_in_home(task, "mini", moved)
    try:
        [known] = rebuild_runs([run.path], 1, "python train.py", lambda _: None)
    finally:
        store_in_home(task, "mini", stored)
    assert known.rebuilt is not None and known.rebuilt.given.reference == moved.reference.mean
    assert len([line for line in read_rebuilds(run.rebuilds) if isinstance(line, DrawLine)]) == 7


def test_a_grade_is_not_improved_by_rebuilding_until_it_is_good(ran: Ran) -> None:
    lucky = SOLUTION.replace("3.0", "3.0 - time.time_ns() % 1000 / 1000", 1)
    assert lucky != SOLUTION
    run = ran({"solve.py": f"import time\n{lucky}", "reproduce.sh": RUN("solve.py")}, "solve.py")
    grade = graded(run)
    means = {rebuild_runs([run.path], 1, None, print, again=True)[0].rebuilt for _ in range(3)}
    assert len({one.mean for one in means if one is not None}) > 1
    assert graded(run).normalised == grade.normalised


def test_a_name_that_is_not_text_costs_nothing(ran: Ran) -> None:
    odd = "open(b'caf\\xe9.csv', 'w').write('1')\nopen(b'caf\\xe9.py', 'w').write('1')\n"
    run = ran({"solve.py": odd + SOLUTION, "reproduce.sh": RUN("solve.py")}, "solve.py")
    grade = graded(run)
    assert grade.success and grade.rebuilt is not None
    assert "caf⟨U+DCE9⟩.py (its name is not UTF-8)" in grade.rebuilt.left_out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('python "a b', r'--command python "a b: No closing quotation'),
        ("", "--command: is empty"),
        ("cd src && python a.py", r"without a shell, which && needs; write: --command 'bash -c '"),
        ("python a.py | cat", r"without a shell, which \| needs"),
        ("python a.py 2>log", r"without a shell, which 2>log needs"),
    ],
)
def test_commands_that_cannot_be_run_are_refused_first(command: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        rebuild_runs([Path("nowhere")], 1, command, lambda _: None)


def test_a_run_that_has_not_ended_is_not_rebuilt(task: Task, tmp_path: Path) -> None:
    async def begun() -> RunDirectory:
        async with Environment.open(task, tmp_path / "out") as environment:
            await environment.execute(Action(name="List Files", arguments={"dir_path": "."}))
        return environment.run

    ensure_ready(task, "mini", call=call_task)
    run = asyncio.run(begun())
    [one] = rebuild_runs([run.path], 1, None, lambda _: None)
    assert one.failure is not None and f"mlagentbench resume {run.path}" in one.failure


def test_a_program_is_run_in_the_virtual_environment_of_its_run(ran: Ran) -> None:
    run = ran({"solve.py": SOLUTION}, "solve.py", protocol="standard")
    record = read_record(run)
    facts = record.disclosure.model_copy(update={"python_env": "ab" * 32})
    change_record(run, record.model_copy(update={"disclosure": facts}))
    [one] = rebuild_runs([run.path], 1, None, lambda _: None)
    assert one.rebuilt is None and one.failure is not None
    assert "virtual environment of this run (abababababab" in one.failure
    assert "mlagentbench run --tasks" in one.failure


def test_what_is_above_the_ceiling_on_any_draw_is_marked() -> None:
    first, *others = lines_of(0.9, 0.9, 1.4)
    high = others[1].result.model_copy(update={"above_ceiling": True})
    others[1] = others[1].model_copy(update={"result": high})
    rebuilt = rebuilt_of(first, others, None)
    submitted = GradeRecord(step=1, valid=True, score=1.0)
    assert grade_of_record(submitted, rebuilt, BarComparison(), 1.0).above_ceiling


def test_a_score_is_compared_with_the_ceiling_and_keeps_its_error() -> None:
    metric = Metric(name="accuracy", better="higher")
    measured = Measured(
        data="-", trivial={}, bar=0.3, ceiling=0.8,
        starter=StarterMeasurements(mean=0.0, std=0.01, runs=3),
        reference=ReferenceMeasurements(mean=0.5, std=0.0, runs=1),
    )  # fmt: skip
    [line] = lines_of(0.0)
    one = line.result.model_copy(update={"score_error": 0.1})
    assert compared(metric, one, measured).standard_error == pytest.approx(0.2)
    high = compared(metric, one.model_copy(update={"score": 0.9}), measured)
    assert high.above_ceiling and high.normalised == pytest.approx(1.8)


def test_rebuilding_continues_after_a_kill(ran: Ran) -> None:
    slow = f"sleep 0.5\n{RUN('solve.py')}"
    run = ran({"solve.py": SOLUTION, "reproduce.sh": slow}, "solve.py")
    command = [str(COMMAND), "runs", "regrade", str(run.path)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not (run.rebuilds.exists() and run.rebuilds.read_bytes().count(b"\n") >= 2):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = run.rebuilds.read_bytes()
    assert newest_rebuilt(run.rebuilds) is None and read_grades(run) == []
    [regraded] = score_runs([run.path], "last", lambda _: None, grade_step)
    assert regraded.failure is None and regraded.grades[0].success
    assert run.rebuilds.read_bytes().startswith(before) and faults(run) == []
    lines = list(read_rebuilds(run.rebuilds))
    draws = [line.result.draw for line in lines if isinstance(line, DrawLine)]
    assert draws == ["public", *FRESH[:2]] and isinstance(lines[-1], SummaryLine)


def test_a_fresh_draw_without_a_scale_is_skipped_for_the_next(task: Task, ran: Ran) -> None:
    # On some draws the starter's rule is right and the solution's is not.
    make = MAKE.replace("x = rng", "slope = 1 if rng.random() < 0.3 else 3\n    x = rng")
    (task.folder / "mini.py").write_text(make.replace("3 * x", "slope * x"))
    run = ran({"solve.py": SOLUTION, "reproduce.sh": RUN("solve.py")}, "solve.py")
    grade = graded(run)
    assert grade.success and grade.rebuilt is not None
    [skipped] = grade.rebuilt.skipped
    tried = [skipped.draw, *(one.draw for one in grade.rebuilt.fresh)]
    assert sorted(tried) == FRESH[:3] and "not better than the floor" in skipped.reason
    facts = dict(rebuilt_facts(grade.rebuilt))
    assert facts[f"skipped draw {skipped.draw}"] == skipped.reason
    graded(run)
    lines = [line for line in read_rebuilds(run.rebuilds) if not isinstance(line, SummaryLine)]
    assert len(lines) == 4, "what was skipped is not tried again"


def test_the_reference_agents_leave_their_program(task: Task, tmp_path: Path) -> None:
    create_exclusively(tmp_path / "suite" / "fresh-draws.key", KEY.value.encode())
    request = SuiteRequest.read(
        tasks=str(task.folder),
        agents="oracle,baseline,nop",
        out=tmp_path / "suite",
        protocol="rebuild",
        rebuild_draws=1,
    )
    outcome = run_suite(request, Terminal(file=StringIO()))
    grades = {one.record.disclosure.agent: one.grade for one in outcome.results}
    oracle, baseline, nop = (grades[name] for name in ("oracle", "baseline", "nop"))
    assert oracle is not None and oracle.success and oracle.rebuilt is not None
    assert baseline is not None and baseline.valid and not baseline.success
    assert nop is not None and nop.reason is not None and not nop.valid
    assert "reproduce.sh not found" in nop.reason
    run = find_run(tmp_path / "suite" / outcome.results[0].path)
    facts = read_record(run).disclosure
    assert facts.rebuild_draws == 1 and facts.fresh_key == fresh_key(tmp_path / "suite").hash
    key = (tmp_path / "suite" / "fresh-draws.key").read_text()
    for file in (tmp_path / "suite" / "runs").rglob("*"):
        assert not file.is_file() or key.strip().encode() not in file.read_bytes()
    (tmp_path / "suite" / "fresh-draws.key").unlink()
    with pytest.raises(UsageError, match="not found, and the fresh draws of the runs below"):
        fresh_key(tmp_path / "suite")


def test_splits_of_full_data_are_required_before_a_run(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "tasks": "house-price",
        "agents": "oracle",
        "out": tmp_path / "out",
    }
    request = SuiteRequest.read(**options, tier="full", protocol="rebuild")
    with pytest.raises(UsageError, match=r"tasks prepare house-price --tier full --splits 3"):
        check_requirements(request, Terminal(file=StringIO()))
    with pytest.raises(UsageError, match=r"--rebuild-draws 2: .* needs --protocol rebuild"):
        SuiteRequest.read(**options, rebuild_draws=2)


def lines_of(*worth: float | None) -> list[DrawLine]:
    """Draws with these normalised scores; None is one that failed."""
    return [
        DrawLine(
            step=1,
            command="bash reproduce.sh",
            result=RebuiltDraw(
                draw=f"100~{number}", data_hash="-", floor=0.0, reference=1.0, noise=0.01,
                noise_degrees=31, starter_runs=3, score=one, normalised=one,
                reason="not reproduced: exit status 4" if one is None else None,
            ),
        )
        for number, one in enumerate(worth)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "fresh", "mean", "valid", "success", "said"),
    [
        (1.0, (1.0, 0.9, 1.1), 1.0, True, True, "mean of 3 fresh draws 1.00 reaches 0.50"),
        (1.0, (1.6, None, None), 1.6 / 3, True, False, "but 2 of 3 have no score"),
        (None, (0.9, 0.9, 0.9), 0.9, False, False, "not reproduced on the given draw: exit"),
        (1.0, (1.0, None, -2.0), -1.0, True, False, "counted as -2.00: 100~2 (not reproduced"),
        (-1.0, (None, None), -1.0, False, False, "not reproduced on any of 2 fresh draws: exit"),
        (1.0, (0.9, 0.9, None), 0.6, True, True, "counted as 0.00: 100~3 (not reproduced"),
    ],
)
def test_a_success_is_made_on_the_given_draw_and_most_fresh_ones(
    given: float | None,
    fresh: tuple[float | None, ...],
    mean: float,
    valid: bool,
    success: bool,
    said: str,
) -> None:
    first, *others = lines_of(given, *fresh)
    rebuilt = rebuilt_of(first, others, None, proposed=False)
    assert rebuilt.mean == pytest.approx(mean) and rebuilt.success is success
    submitted = GradeRecord(step=1, valid=True, score=1.0)
    grade = grade_of_record(submitted, rebuilt, BarComparison(), 1.0)
    assert grade.valid is valid and grade.success is success
    reason = grade.success_reason if valid else grade.reason
    assert said in (reason or "")
    assert (grade.score is None) is not valid


@pytest.mark.parametrize(
    ("given", "fresh", "rung", "share"),
    [
        (1.0, (1.0, 0.97, 0.96), "matches the reference", 2.93 / 3 / 1.5),
        (1.0, (1.0, 0.9, 0.8), "success", 0.6),
        (1.0, (1.4, 1.3, 1.35), "near the ceiling", 0.9),
        (1.0, (1.5, 1.5, None), "matches the reference", 2 / 3),
        (1.0, (1.5, None, None), "above the floor", 1 / 3),
        (1.0, (0.1, 0.0, 0.2), "above the floor", 0.2 / 3),
        (1.0, (0.01, 0.0, 0.0), "valid", 0.01 / 4.5),
        (None, (1.5, 1.5, 1.5), "invalid", None),
        (1.0, (None, None), "invalid", None),
    ],
)
def test_the_rung_of_record_is_that_of_the_fresh_draws(
    given: float | None, fresh: tuple[float | None, ...], rung: str, share: float | None
) -> None:
    """The solution's tolerance is t(0.95, 7) * 0.02 * sqrt(2 / 3) = 0.031 for three draws."""
    known = {
        "reference_noise": 0.02, "reference_degrees": 7, "reference_runs": 1,
        "normalised_ceiling": 1.5, "standard_error": 0.01,
    }  # fmt: skip
    first, *others = (
        line.model_copy(update={"result": line.result.model_copy(update=known)})
        for line in lines_of(given, *fresh)
    )
    rebuilt = rebuilt_of(first, others, None)
    submitted = GradeRecord(step=1, valid=True, score=1.0, rung="success", ceiling_share=0.7)
    in_mini = BarComparison(ceiling=1.5, ceiling_share=0.7, rung="success")
    grade = grade_of_record(submitted, rebuilt, in_mini, 1.0)
    assert (rebuilt.rung, grade.rung) == (rung, rung)
    assert grade.ceiling_share == (None if share is None else pytest.approx(share))
    assert grade.as_submitted.rung is None, "that of the file is not known"
    in_full = grade_of_record(submitted, rebuilt, BarComparison(ceiling=1.5), 1.0)
    assert in_full.ceiling_share is None


def test_a_program_that_knows_fresh_draws_is_marked() -> None:
    first, *others = lines_of(0.1, 0.9, 1.0, 0.95)
    assert rebuilt_of(first, others, None, proposed=False).is_better_on_fresh
    first, *others = lines_of(0.1, 0.1, 2.0, 0.2)
    assert not rebuilt_of(first, others, None, proposed=False).is_better_on_fresh, "it is spread"


def test_the_bar_of_a_mean_is_above_the_noise_of_a_mean() -> None:
    def draw(noise: float) -> RebuiltDraw:
        return RebuiltDraw(
            draw="1", data_hash="-", floor=0.0, reference=1.0, noise=noise, noise_degrees=31,
            starter_runs=3,
        )  # fmt: skip

    assert mean_bar([draw(0.01)] * 3) == 0.5
    one, four = mean_bar([draw(0.4)]), mean_bar([draw(0.4)] * 4)
    assert one == pytest.approx(2.906 * 0.4 * (4 / 3) ** 0.5, rel=1e-3)
    assert four == pytest.approx(one / 2)
