"""A leak probe: a model must not learn the answers from ids, positions and file facts."""

import json
from collections.abc import Callable

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.guest import GUEST
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Bind, Limits, SandboxSpec
from mlagentbench.sandbox.sandbox_registry import default_envs, fresh_sandbox
from mlagentbench.task_checks.data_tables import ANSWERS, read_answers
from mlagentbench.task_checks.verdicts import SIGMAS, Check, CheckResult
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.task import Task

REQUIREMENTS = ("numpy", "scikit-learn")
MIN_ROWS = 50
TIMEOUT = 1800.0
CHECK = Check("probe learns nothing")

_PROGRAM = GUEST / "probe_program.py"
_PUBLIC, _PROBE = "/public", "/probe"


class ProbeTest(Record):
    """What one model learnt about one target, compared with the best constant."""

    target: str
    model: str
    sight: str
    gain: float
    standard_error: float

    @property
    def sigmas(self) -> float:
        """The gain in standard errors; infinite for a gain without any spread."""
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
    """No model that sees only position, id and file facts beats the best constant by 3 errors."""
    answers = read_answers(data.private)
    if answers is None:
        known = ", ".join(ANSWERS)
        if task.spec.kind == "predictions":
            return CHECK.fails(f"private/ has none of {known}")
        return CHECK.not_applicable(f"no {known} in private/")
    if len(answers.ids) < MIN_ROWS:
        return CHECK.not_applicable(f"{len(answers.ids)} answers, fewer than {MIN_ROWS}")
    question = {
        "ids": answers.ids,
        "targets": {str(name): list(values) for name, values in answers.targets.items()},
    }
    result = await _run(data, json.dumps(question), announce)
    return verdict(result)


def verdict(result: ProbeResult) -> CheckResult:
    if not result.tests:
        return CHECK.not_applicable("rows differ neither in position nor in id nor in files")
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
        return CHECK.fails(said)
    return CHECK.holds(f"{result.rows} answers, {len(result.tests)} models; the best: {said}")


async def _run(data: PreparedData, question: str, announce: Callable[[str], None]) -> ProbeResult:
    env = await default_envs().ensure(REQUIREMENTS, announce=announce)
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
        async with fresh_sandbox(env, spec) as sandbox:
            command = ["python", f"{_PROBE}/{_PROGRAM.name}", _PUBLIC, "answers.json"]
            result = await sandbox.run(command)
    if result.exit_code != 0 or result.limit is not None:
        how = str(result.limit) if result.limit else f"exit code {result.exit_code}"
        raise RunFailed("harness", f"the probe failed ({how})\n{result.output[-2000:]}")
    return ProbeResult.model_validate_json(result.stdout)
