"""Fuzz a grader: many damaged submissions, graded one after the other in one sandbox."""

import asyncio
import base64
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graded_cases import CASES, GradedCase
from hypothesis import HealthCheck, Phase, given, settings
from mutations import Submission, damaged
from prepared import write_data

from mlagentbench.guest import GUEST
from mlagentbench.sandbox.base import WORKSPACE, Bind, Limits, SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_task

PROGRAM = Path(__file__).with_name("grade_many.py")
LIBRARIES = ("mlagentbench_task.py", "mlagentbench_intervals.py")
AT_ONCE = 500
LONGEST = 120.0
"""Seconds that grading one of these may take; the first that needs torch waits for its import."""


class FuzzedGrader(NamedTuple):
    """What came of fuzzing one grader."""

    scores: int
    invalid: int
    slowest: float
    faults: list[str]
    """Each with the submission that caused it, shortened."""


def fuzz(
    task: str, count: int, python_env: PythonEnv, scratch: Path, *, same: bool = True
) -> FuzzedGrader:
    """Grade the valid submission, and `count` damaged ones; the same every time if `same`."""
    case = CASES[task](scratch, python_env)
    waiting: list[Submission] = [dict(case.outputs)]
    outcomes: list[tuple[list[str], float]] = []
    faults: list[str] = []

    def grade_waiting() -> None:
        directory = scratch / f"from-{len(outcomes)}"
        graded = grade_all(case, waiting, python_env, directory)
        for submission, (found, seconds) in zip(waiting, graded, strict=True):
            faults.extend(f"{text}\n{shown(case, submission)}" for text in found if is_fault(text))
            if seconds > LONGEST:
                faults.append(f"took {seconds:.1f} s\n{shown(case, submission)}")
        outcomes.extend(graded)
        waiting.clear()
        shutil.rmtree(directory)

    @settings(
        max_examples=count,
        derandomize=same,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(case.outputs, case.fixed))
    def generate(submission: Submission) -> None:
        waiting.append(submission)
        if len(waiting) == AT_ONCE:
            grade_waiting()

    generate()
    grade_waiting()
    return FuzzedGrader(
        scores=sum(found[0] == "score" for found, _ in outcomes),
        invalid=sum(found[0].startswith("invalid: ") for found, _ in outcomes),
        slowest=max(seconds for _, seconds in outcomes),
        faults=faults,
    )


def is_fault(outcome: str) -> bool:
    return outcome.startswith("crash: ")


def shown(case: GradedCase, submission: Submission) -> str:
    """What was damaged in a submission."""
    changed = {
        name: repr(contents)[:300]
        for name, contents in submission.items()
        if contents != case.outputs.get(name)
    }
    return f"{changed} without {sorted(case.outputs.keys() - submission.keys())}"


def grade_all(
    case: GradedCase, submissions: Sequence[Submission], python_env: PythonEnv, directory: Path
) -> list[tuple[list[str], float]]:
    """The outcomes and the seconds of each, from one process in a fresh sandbox."""
    data = write_data(directory / "data", case.public, case.private)
    task, workspace = load_task(case.task), directory / "workspace"
    workspace.mkdir(parents=True)
    names = ["private", *(["public"] if task.spec.kind == "timed" else [])]
    call = {"data": names, "checked": case.checked, "submissions": "submissions.jsonl"}
    (workspace / "call.json").write_text(json.dumps(call))
    lines = [json.dumps({name: _sent(part) for name, part in s.items()}) for s in submissions]
    (workspace / "submissions.jsonl").write_text("\n".join(lines) + "\n")
    binds = [Bind(source=PROGRAM, target="/mlagentbench/grade_many.py")]
    binds += [Bind(source=GUEST / name, target=f"/mlagentbench/{name}") for name in LIBRARIES]
    binds += [Bind(source=task.folder, target="/task")]
    binds += [
        Bind(source=data.directory / part, target=f"/data/{part}") for part in ("public", "private")
    ]
    spec = SandboxSpec(
        workspace=workspace,
        python_env=python_env.directory,
        binds=tuple(binds),
        limits=Limits(wall_time=3600, memory=int(task.spec.resources.memory)),
    )
    output = asyncio.run(_run(spec))
    outcomes = [json.loads(line) for line in output.splitlines()]
    return [(found, seconds) for found, seconds in outcomes]


def _sent(contents: bytes | str | None) -> str | None:
    if isinstance(contents, bytes):
        return base64.b64encode(contents).decode()
    return None if contents is None else f"->{contents}"


async def _run(spec: SandboxSpec) -> str:
    async with BubblewrapSandbox(spec) as sandbox:
        command = ["python3", "/mlagentbench/grade_many.py", f"{WORKSPACE}/call.json"]
        result = await sandbox.run(command)
    assert result.exit_code == 0 and result.limit is None, (result.limit, result.output[-3000:])
    return result.stdout.decode()
