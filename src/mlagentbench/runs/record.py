"""What a run is, written to its directory once when it is created."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlagentbench.fs import create_exclusively
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import BranchPoint, Disclosure, Json, Pair, RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.machine_facts import granted_resources, hardware, packages
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task


def disclose(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    limits: BudgetLimits,
    *,
    agent: str,
    agent_settings: dict[str, Json] | None = None,
    model: str = "none",
    roles: dict[str, str] | None = None,
    answered_by: str | None = None,
    recording: str | None = None,
    sandbox: str,
    isolation: str,
    tools: tuple[str, ...] | None,
    image: str | None = None,
    feedback: str = "none",
    execution: bool = True,
    protocol: str = "standard",
    rebuild_draws: int | None = None,
    draw_policy: str | None = None,
    interactive: bool = False,
    gpus: int | None = None,
    primary: Pair | None = None,
) -> Disclosure:
    """Everything that a result of this run will say about where it came from."""
    return Disclosure(
        **_task_facts(task),
        **_data_facts(data, draw_policy),
        agent=agent,
        agent_settings=agent_settings or {},
        model=model,
        roles=roles or {},
        answered_by=answered_by or ("nobody" if model == "none" else "model"),
        recording=recording,
        sandbox=sandbox,
        isolation=isolation,
        machine_code="none" if task.spec.collect is None else task.spec.collect.machine_code,
        tools=tools,
        gpus=gpus,
        resources=granted_resources(),
        image=image,
        image_id=python_env.image,
        limits=limits.model_dump(),
        feedback=feedback,
        execution=execution,
        protocol=protocol,
        rebuild_draws=rebuild_draws,
        interactive=interactive,
        primary=primary,
        python_env=python_env.hash,
        python_packages=python_env.versions,
        unenforced_rules=task.spec.unenforced_rules,
        hardware=hardware(),
        packages=packages(),
    )


def _task_facts(task: Task) -> dict[str, Any]:
    """What is disclosed of the task."""
    return {
        "task": task.id,
        "task_version": task.spec.version,
        "metric": task.spec.metric.name,
        "better": task.spec.metric.better,
        "profile": task.profile,
        "variant": task.variant,
    }


def _data_facts(data: PreparedData, draw_policy: str | None) -> dict[str, Any]:
    """What is disclosed of the data."""
    is_generated = data.tier != "full"
    return {
        "data_hash": data.hash,
        "data_verified": data.verified,
        "data_differences": data.accepted,
        "tier": data.tier,
        "draw": data.draw if is_generated else None,
        "draw_policy": (draw_policy or data.draw) if is_generated else None,
        "generator": data.recipe if is_generated else None,
    }


def new_record(task: Task, epoch: int, disclosure: Disclosure) -> RunRecord:
    """The record of a run that begins now."""
    return RunRecord(
        task_path=task.address,
        epoch=epoch,
        seed=task.run_seed(epoch),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        disclosure=disclosure,
    )


def place_of(record: RunRecord) -> str:
    """Where the run's directory is below OUT."""
    return str(record.directory(settings_hash(record.disclosure, record.branched_from)))


def find_or_create_run(out: Path, task: Task, epoch: int, disclosure: Disclosure) -> RunDirectory:
    """The directory of this run below OUT; a new one gets its run.json, from one process only."""
    record = new_record(task, epoch, disclosure)
    run = RunDirectory(out, Path(place_of(record)))
    if not run.run_json.exists():
        create_exclusively(run.run_json, record.model_dump_json(indent=2).encode())
    return run


def settings_hash(facts: Disclosure, branched_from: BranchPoint | None = None) -> str:
    """What tells two runs of one agent on one task apart, besides model and epoch."""
    parts = (
        facts.agent_settings,
        facts.roles,
        facts.limits,
        facts.sandbox,
        facts.feedback,
        facts.protocol,
        facts.task_version,
        facts.data_hash if facts.generator is None else [facts.generator, facts.draw_policy],
        *([] if facts.recording is None else [facts.recording]),
        *([] if facts.gpus is None else [{"gpus": facts.gpus}]),
        *([] if facts.profile is None else [{"profile": facts.profile}]),
        *([] if facts.image is None else [f"image {facts.image}"]),
        *([] if facts.rebuild_draws is None else [f"rebuild {facts.rebuild_draws}"]),
        *(["interactive"] if facts.interactive else []),
        *([] if facts.execution else ["no execution"]),
        *([] if branched_from is None else [branched_from.model_dump()]),
    )
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
