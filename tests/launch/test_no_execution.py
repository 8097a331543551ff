"""`--no-execution`: who is refused, that nothing is executed, and what the program is worth."""

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.agent import react
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.tool import bash, python
from number_task import PREPARE, SOLUTION, STARTER, write_number_task
from task_folders import GENERATED, task_toml
from typer.testing import CliRunner

from mlagentbench.agents.registry import AGENTS
from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.disclosures import FACTS
from mlagentbench.cli import app
from mlagentbench.cli.runs.show_printing import run_header
from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively
from mlagentbench.grading.regrade import score_runs
from mlagentbench.inspect_plugin import registered_task, tree
from mlagentbench.launch.branch import Changes, branch_run
from mlagentbench.launch.disclose_run import actions_of
from mlagentbench.launch.replay.replay import replay_run
from mlagentbench.launch.request import RunSettings, SuiteRequest, parse_agents, read_settings
from mlagentbench.launch.resume import ResumeOptions, resume_runs
from mlagentbench.launch.suite import check_requirements, run_suite
from mlagentbench.rebuild.rebuild_run import grade_step
from mlagentbench.records import GradeRecord
from mlagentbench.report.report import ReportRequest, write_report
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.record import settings_hash
from mlagentbench.runs.results import collect, find_run, read_record, read_run
from mlagentbench.terminal import Terminal

EXECUTING = {"Execute Script", "Python REPL", "Validate Submission"}
KEY = "6" * 32
"""The same in all tests, so that fresh draws are measured once."""
PRYING = """
import json, pathlib

from inspect_ai.solver import Solver, solver
from inspect_ai.util import sandbox
from mlagentbench import Action, Environment, as_solver

SOLUTION = {solution!r}


@solver
def prying() -> Solver:
    async def loop(environment: Environment) -> None:
        async def act(name: str, **arguments: str) -> str:
            return (await environment.execute(Action(name=name, arguments=arguments))).text

        seen = [
            await act("Execute Script", script_name="train.py"),
            await act("Python REPL", command="open('made-by-repl', 'w')"),
            await act("Validate Submission"),
            (await environment.sandbox.run(["touch", "made-by-run"])).output,
            (await sandbox().exec(["touch", "made-by-exec"])).stderr,
            await act("List Files"),
        ]
        pathlib.Path({seen!r}).write_text(json.dumps([environment.problem, *seen]))
        await act("Write File", file_name="solve.py", content=SOLUTION)
        await act("Write File", file_name="reproduce.sh", content="python solve.py\\n")
        await act("Final Answer", final_answer="done")

    return as_solver(loop)
"""
PROGRAM = """
import csv, sys
inputs, outputs = sys.argv[1:]
with open(f"{outputs}/submission.csv", "w") as out:
    out.write("id,y\\n")
    for row in csv.DictReader(open(f"{inputs}/test.csv")):
        out.write(f"{row['id']},{1 * float(row['x'])}\\n")
"""
COLLECT = """
[collect]
command = "python predict.py {inputs} {outputs}"
inputs = "inputs"
[limits]
steps = 10
time = "10m"
command_time = "2m"
[resources]
cpus = 1
memory = "1GB"
"""
Run = Callable[..., RunDirectory]


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


def console() -> Terminal:
    return Terminal(file=StringIO())


def request(top: Path, agents: str, **options: Any) -> SuiteRequest:
    """Runs on the number task, whose starter is measured with few runs."""
    if not (top / "numbers").exists():
        write_number_task(top, starter=STARTER.replace("random.gauss(0, 0.02)", "0"))
    usual: dict[str, Any] = {"tasks": str(top / "numbers"), "no_execution": True}
    if options.get("no_execution", True):
        usual["rebuild_draws"] = 1
    return SuiteRequest.read(agents=agents, out=top / "out", **usual | options)


@pytest.fixture
def ran(tmp_path: Path) -> Run:
    def run(agents: str, **options: Any) -> RunDirectory:
        if not (tmp_path / "out").exists():
            create_exclusively(tmp_path / "out" / "fresh-draws.key", KEY.encode())
        [result] = run_suite(request(tmp_path, agents, **options), console()).results
        assert result.failure is None, result.failure
        return find_run(tmp_path / "out" / result.path)

    return run


def graded(run: RunDirectory) -> GradeRecord:
    grade = read_run(run).grade
    assert grade is not None
    return grade


def done(run: RunDirectory) -> list[str]:
    return [step.action.name for step in read_journal(run.journal).steps]


# What is asked for


def test_without_executions_the_protocol_is_rebuild() -> None:
    assert RunSettings(no_execution=True).protocol == "rebuild"
    assert RunSettings(no_execution=True, protocol="rebuild").fresh_draws == 3
    assert RunSettings(no_execution=True, rebuild_draws=5).fresh_draws == 5
    assert RunSettings().protocol == "standard" and RunSettings().fresh_draws is None
    written = RunSettings(no_execution=True).model_dump(mode="json", exclude_defaults=True)
    assert RunSettings.model_validate(written) == RunSettings(no_execution=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"protocol": "standard"},
            "--no-execution: it cannot be combined with --protocol standard, .* leave out",
        ),
        ({"preset": "paper-icml"}, "--no-execution: .* --protocol paper, .* --protocol rebuild"),
        ({"feedback": "validation:3"}, "--no-execution: .* --feedback validation:3, .* leave out"),
    ],
)
def test_other_protocols_and_feedback_are_refused(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        request(tmp_path, "baseline", rebuild_draws=None, **options)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("tree", "agent tree cannot work without executions: it chooses .* by running them; "),
        ("aide", "agent aide cannot work without executions: its own program runs in the sandbox"),
        ("external(command=ls)", "agent external cannot work .* choose among: baseline, nop"),
        ('react(actions=["List Files", "Execute Script"])', "name Execute Script, which executes"),
        ('research(actions=["Validate Submission"])', "of agent research name Validate Submission"),
    ],
)
def test_agents_that_execute_are_refused_before_anything_starts(
    agent: str, said: str, tmp_path: Path
) -> None:
    asked = request(tmp_path, agent, models="mockllm/model")
    with pytest.raises(UsageError, match=f"^--no-execution: .*{said}"):
        run_suite(asked, console())
    assert not (tmp_path / "out").exists()


def test_a_sandbox_that_cannot_withhold_commands_is_refused(tmp_path: Path) -> None:
    asked = request(tmp_path, "baseline", sandbox="local")
    with pytest.raises(
        UsageError, match=r"--sandbox local: .* --no-execution .* bubblewrap, docker"
    ):
        check_requirements(asked, console())


def test_the_registry_says_which_agents_execute_by_themselves() -> None:
    refused = {info.name for info in AGENTS.values() if info.needs_execution is not None}
    assert refused == {"tree", "aide", "external"}
    assert {info.name for info in AGENTS.values() if info.in_sandbox} <= refused
    shown = CliRunner().invoke(app, ["agents", "show", "tree"])
    assert "not with --no-execution: it chooses among solutions by running" in shown.output


@pytest.mark.parametrize("agent", ["react", "research", "autogpt", "oracle", "of-my-own"])
def test_no_action_that_executes_is_offered(agent: str) -> None:
    [choice] = parse_agents(agent)
    with_executions = {spec.name for spec in actions_of(choice, RunSettings())}
    offered = {spec.name for spec in actions_of(choice, RunSettings(no_execution=True))}
    assert offered == with_executions - EXECUTING and "Final Answer" in offered


# What is run


@pytest.mark.slow
def test_the_oracle_scores_as_it_does_with_executions(ran: Run, tmp_path: Path) -> None:
    without = ran("oracle")
    usual = ran("oracle", no_execution=False, protocol="rebuild", rebuild_draws=1)
    assert done(without) == ["Write File", "Write File", "Final Answer"]
    assert "Execute Script" in done(usual)
    grade, expected = graded(without), graded(usual)
    assert grade.success and grade.valid and grade.reason is None
    assert (grade.score, grade.normalised) == (expected.score, expected.normalised)
    assert grade.rebuilt is not None and expected.rebuilt is not None
    scores = [one.score for one in (grade.rebuilt.given, *grade.rebuilt.fresh)]
    assert scores == [one.score for one in (expected.rebuilt.given, *expected.rebuilt.fresh)]
    assert grade.score == scores[0], "that of the program on the given draw"
    assert grade.rebuilt.program_only and not expected.rebuilt.program_only
    assert grade.rebuilt.difference is None and grade.rebuilt.submitted_score is None
    assert grade.as_submitted.valid and grade.as_submitted.score == grade.score

    facts = read_record(without).disclosure
    assert (facts.execution, facts.protocol, facts.rebuild_draws) == (False, "rebuild", 1)
    assert without.relative != usual.relative
    assert settings_hash(facts) != settings_hash(facts.model_copy(update={"execution": True}))
    [disclosed] = [fact.value(read_record(without)) for fact in FACTS if fact.label == "execution"]
    assert disclosed == "none"

    summary = summarise(without, "out")
    assert summary.process.findings == () and summary.process.error_modes == ()
    assert [point.valid for point in summary.points] == [True]
    shown = "\n".join(run_header(summary))
    assert "no execution: the agent could only list, read, write and edit files" in shown
    assert "submitted: the program alone" in shown
    assert not re.search("nothing was submitted|differ|invalid|as submitted", shown)

    written = write_report(
        ReportRequest(directories=(tmp_path / "out",), formats=frozenset(["csv"]))
    )
    [gain] = written.data.experimentation.gains
    assert (gain.agent, gain.gain, gain.pairs) == ("oracle", 0.0, 1)
    assert written.data.experimentation.unpaired == ()


@pytest.mark.slow
def test_the_baseline_and_nop_are_graded_by_what_they_left(ran: Run) -> None:
    baseline = graded(ran("baseline"))
    assert baseline.valid and baseline.success is False and abs(baseline.normalised or 0.0) < 0.2
    nop = graded(ran("nop"))
    assert not nop.valid and nop.success is False
    assert nop.reason is not None and "reproduce.sh not found in the workspace" in nop.reason


def program_task(top: Path) -> Path:
    """The number task with a program as its submission, which is run on the hidden inputs."""
    copied = (
        "    (private / 'inputs').mkdir()\n"
        "    (private / 'inputs' / 'test.csv').write_text((public / 'test.csv').read_text())\n"
    )
    toml = task_toml(
        "numbers", submission="predict.py", solution="python train.py", requirements=["numpy>=2"],
        tables=COLLECT + GENERATED,
    )  # fmt: skip
    return write_number_task(
        top,
        **{
            "task.toml": toml.replace('kind = "predictions"', 'kind = "program"'),
            "prepare_py": PREPARE.replace("\n\n\ndef write", f"\n{copied}\n\ndef write"),
            "trivial_py": f"def predictors(public):\n    return {{'one': {PROGRAM!r}}}\n\n\n"
            f"def known_good(public):\n    return {PROGRAM!r}\n",
            "starter": "print('nothing to train')\n",
            "starter/predict.py": PROGRAM,
            "solution/predict.py": PROGRAM.replace("1 * float", "3 * float"),
        },
    )


@pytest.mark.slow
def test_a_submitted_program_is_graded_as_it_is(ran: Run, tmp_path: Path) -> None:
    program_task(tmp_path)
    run = ran("oracle")
    assert done(run)[-1] == "Final Answer" and "Execute Script" not in done(run)
    grade = graded(run)
    assert grade.success and grade.rebuilt is not None and grade.rebuilt.command is None
    assert not grade.rebuilt.program_only, "it is submitted as a file, and graded as one"
    assert grade.rebuilt.submitted_score == grade.score and grade.rebuilt.difference is None


@pytest.mark.slow
def test_nothing_is_executed_by_whatever_an_agent_tries(ran: Run, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    (tmp_path / "prying.py").write_text(PRYING.format(solution=SOLUTION, seen=str(seen)))
    run = ran(str(tmp_path / "prying.py"))
    told = json.loads(seen.read_text())
    problem, script, repl, validate, command, through_inspect, files = told
    for refused in (script, repl, validate):
        assert "There is no action" in refused
        assert not EXECUTING & set(refused.partition("Actions: ")[2].split(", "))
    assert command == through_inspect
    assert command.startswith("nothing can be executed in this run")
    assert "made-by" not in files and "submission.csv" not in files
    assert "You can list, read, write and edit files, but you cannot execute anything" in problem
    assert "`bash reproduce.sh`" in problem and "Each time it may take 2 min" in problem
    assert not any(name in problem for name in EXECUTING)
    grade = graded(run)
    assert grade.success, "the program that it wrote is run and scored"
    assert grade.rebuilt is not None and grade.rebuilt.fresh[0].score is not None


@pytest.mark.slow
def test_a_run_without_executions_is_resumed_without_them(ran: Run, tmp_path: Path) -> None:
    cut_off = ran("oracle", max_steps=1)
    assert done(cut_off) == ["Write File"]
    assert "not reproduced" in (graded(cut_off).reason or "")
    with pytest.raises(UsageError, match="agent tree cannot work without executions"):
        how = ResumeOptions.read(max_steps=9)
        changes = Changes.model_validate({"agent": "tree", "model": "mockllm/model"})
        branch_run(cut_off.path, 1, 1, changes, how, print, console())
    outcome = resume_runs(
        [cut_off.path], ResumeOptions.read(max_steps=9), lambda _: None, console()
    )
    [result] = outcome.results
    assert result.grade is not None and result.grade.success
    assert not result.record.disclosure.execution
    assert done(cut_off) == ["Write File", "Write File", "Final Answer"]


@pytest.mark.slow
def test_earlier_steps_and_replays_are_graded_by_the_program_as_it_was(ran: Run) -> None:
    run = ran("oracle")
    last = graded(run)
    [regraded] = score_runs([run.path], "changed", lambda _: None, grade_step)
    assert regraded.failure is None
    first, second, third = regraded.grades
    assert (first.valid, first.score) == (False, None) and "reproduce.sh" in (first.reason or "")
    assert second.score == third.score == last.score and third.normalised == last.normalised
    replay = replay_run(run.path, None, 0.0, lambda _: None)
    assert {step.agreement for step in replay.steps} == {"same"}
    assert [(one.step, one.then, one.now) for one in replay.scores][1:] == [
        (2, last.score, last.score),
        (3, last.score, last.score),
    ]


# Through Inspect


def tool_calls(*planned: tuple[str, dict[str, str]]) -> Any:
    outputs = [ModelOutput.for_tool_call("mockllm", name, values) for name, values in planned]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return get_model("mockllm/model", custom_outputs=outputs)


@pytest.mark.slow
def test_tools_of_inspect_execute_nothing(tmp_path: Path) -> None:
    folder = write_number_task(tmp_path, starter=STARTER.replace("random.gauss(0, 0.02)", "0"))
    create_exclusively(tmp_path / "logs" / "fresh-draws.key", KEY.encode())
    settings = read_settings({"no_execution": True, "rebuild_draws": 1}, str)
    model = tool_calls(
        ("bash", {"command": "python train.py"}),
        ("python", {"code": "open('submission.csv', 'w')"}),
        ("submit", {"answer": "done"}),
    )
    [log] = eval(
        registered_task(str(folder), settings), log_dir=str(tmp_path / "logs"), display="none",
        model=model, solver=react(tools=[bash(), python()]),
    )  # fmt: skip
    assert log.status == "success" and log.samples is not None
    results = [one.text for one in log.samples[0].messages if one.role == "tool"]
    assert all("nothing can be executed in this run" in text for text in results[:2])
    [found] = collect(tmp_path / "logs")
    assert not found.record.disclosure.execution
    assert found.grade is not None and "reproduce.sh not found" in (found.grade.reason or "")


@pytest.mark.slow
def test_inspect_refuses_agents_that_execute_before_their_run_begins(tmp_path: Path) -> None:
    folder = write_number_task(tmp_path)
    settings = read_settings({"no_execution": True}, str)
    [log] = eval(
        registered_task(str(folder), settings), log_dir=str(tmp_path / "logs"), display="none",
        model="mockllm/model", solver=tree(),
    )  # fmt: skip
    assert log.samples is not None and log.samples[0].error is not None
    assert "agent tree cannot work without executions" in log.samples[0].error.message
    assert collect(tmp_path / "logs") == []
