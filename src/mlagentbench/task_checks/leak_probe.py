"""A probe that trains instead of greps: it must not learn the answers from what tells nothing."""

import json
from collections.abc import Callable

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.guest import GUEST
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Bind, Limits, SandboxSpec
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.task_checks.data_tables import ANSWERS, read_answers
from mlagentbench.task_checks.verdicts import SIGMAS, CheckResult
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import ensure_python_env
from mlagentbench.tasks.task import Task

REQUIREMENTS = ("numpy", "scikit-learn")
LEAST_ROWS = 50
TIMEOUT = 1800.0
NAME = "probe learns nothing"

_PROGRAM = GUEST / "probe_program.py"
_PUBLIC, _PROBE = "/public", "/probe"


class ProbeTest(Record):
    """What one model learnt of one target, over the best constant."""

    target: str
    model: str
    sight: str
    gain: float
    standard_error: float

    @property
    def sigmas(self) -> float:
        """Gains in standard errors; without any spread, a gain is beyond all doubt."""
        if self.standard_error == 0:
            return float("inf") if self.gain > 0 else 0.0
        return self.gain / self.standard_error


class ProbeResult(Record):
    rows: int
    features: dict[str, int]
    tests: tuple[ProbeTest, ...]


async def probe_answers(
    task: Task, data: PreparedData, announce: Callable[[str], None]
) -> CheckResult:
    """No model that sees position, id and file facts only beats the best constant by 3 errors."""
    answers = read_answers(data.private)
    if answers is None:
        known = ", ".join(ANSWERS)
        if task.spec.kind == "predictions":
            return CheckResult(name=NAME, ok=False, detail=f"private/ has none of {known}")
        return CheckResult(name=NAME, ok=None, detail=f"not applicable: no {known} in private/")
    if len(answers.ids) < LEAST_ROWS:
        detail = f"not applicable: {len(answers.ids)} answers, fewer than {LEAST_ROWS}"
        return CheckResult(name=NAME, ok=None, detail=detail)
    question = {
        "ids": answers.ids,
        "targets": {str(name): list(values) for name, values in answers.targets.items()},
    }
    result = await _run(data, json.dumps(question), announce)
    return verdict(result)


def verdict(result: ProbeResult) -> CheckResult:
    if not result.tests:
        detail = "not applicable: rows differ neither in position nor in id nor in files"
        return CheckResult(name=NAME, ok=None, detail=detail)
    beyond = [test for test in result.tests if test.sigmas > SIGMAS]
    shown = sorted(beyond, key=lambda test: -test.sigmas)[:3] or [
        max(result.tests, key=lambda test: test.sigmas)
    ]
    said = "; ".join(
        f"{test.model} on {test.sight}: {test.target} {abs(test.sigmas):.1f} standard errors "
        f"{'better' if test.gain > 0 else 'worse'} than a constant"
        for test in shown
    )
    if beyond:
        return CheckResult(name=NAME, ok=False, detail=said)
    detail = f"{result.rows} answers, {len(result.tests)} models; the best: {said}"
    return CheckResult(name=NAME, ok=True, detail=detail)


async def _run(data: PreparedData, question: str, announce: Callable[[str], None]) -> ProbeResult:
    env = await ensure_python_env(REQUIREMENTS, announce=announce)
    with scratch_directory("probe") as directory:
        workspace = directory / "workspace"
        workspace.mkdir()
        (workspace / "answers.json").write_text(question, encoding="utf-8")
        spec = SandboxSpec(
            workspace=workspace,
            python_env=env.directory,
            binds=(
                Bind(source=data.public, target=_PUBLIC),
                Bind(source=_PROGRAM, target=f"{_PROBE}/{_PROGRAM.name}"),
            ),
            limits=Limits(wall_time=TIMEOUT, cpus=1),
        )
        async with BubblewrapSandbox(spec) as sandbox:
            command = [str(env.python), f"{_PROBE}/{_PROGRAM.name}", _PUBLIC, "answers.json"]
            result = await sandbox.run(command)
    if result.exit_code != 0 or result.limit is not None:
        how = str(result.limit) if result.limit else f"exit code {result.exit_code}"
        raise RunFailed("harness", f"the probe failed ({how})\n{result.output[-2000:]}")
    return ProbeResult.model_validate_json(result.stdout)
