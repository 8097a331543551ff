"""Records of runs that never ran, with whatever a test wants to be different."""

from typing import Any

from mlagentbench.analysis.run_summary import RunEfficiency, RunSummary
from mlagentbench.records import Disclosure, Outcome, RunRecord, Usage
from mlagentbench.runs.results import RunResult

FACTS: dict[str, Any] = {
    "task": "house-price",
    "task_version": 1,
    "metric": "mean absolute error",
    "better": "lower",
    "data_hash": "ab" * 32,
    "data_verified": True,
    "tier": "full",
    "agent": "react",
    "model": "openai/small",
    "sandbox": "bubblewrap",
    "isolation": "bubblewrap: user namespace",
    "machine_code": "none",
    "limits": {"steps": 50, "time": 18000.0, "tokens": None, "cost": None},
    "python_env": "cd" * 32,
    "hardware": {"cores": 2, "memory_gb": 8.0, "processor": "P", "speed_probe": 3.1},
    "packages": {"python": "3.11"},
}
SUBMITTED = Outcome(kind="submitted")
EFFICIENCY = RunEfficiency(
    wall_seconds=2.0,
    working_seconds=1.0,
    model_seconds=None,
    script_seconds=0.0,
    harness_seconds=None,
    steps=1,
    roles=(),
    input_tokens=0,
    cached_tokens=0,
    output_tokens=0,
    reasoning_tokens=0,
    cost=None,
)


def made_record(origin: str = "run", epoch: int = 1, **facts: Any) -> RunRecord:
    return RunRecord(
        task_path=facts.get("task", FACTS["task"]),
        epoch=epoch,
        seed=1,
        created="2026-01-01T00:00:00+00:00",
        disclosure=Disclosure(**(FACTS | facts)),
        origin=origin,  # type: ignore[arg-type]
    )


def made_summary(
    outcome: Outcome | None = SUBMITTED,
    record: RunRecord | None = None,
    process: Any = None,
    **result: Any,
) -> RunSummary:
    record = record or made_record()
    return RunSummary(
        out="out",
        cluster="one",
        result=RunResult(
            path=record.directory("0" * 8).as_posix(),
            record=record,
            outcome=outcome,
            usage=Usage(),
            grade=result.pop("grade", None),
            **result,
        ),
        efficiency=EFFICIENCY,
        **({} if process is None else {"process": process}),
    )
