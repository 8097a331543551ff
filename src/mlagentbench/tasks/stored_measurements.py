"""Stored measurements of a task: in its task.toml, or in the user data directory."""

from pathlib import Path

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.home import baselines_dir
from mlagentbench.records import Profile, Tier
from mlagentbench.tasks.programs_hash import programs_hash
from mlagentbench.tasks.spec import Measured, measured_key
from mlagentbench.tasks.task import Task, load_task


def stored_measurements(
    task: Task, tier: Tier, data_hash: str, tool: str | None = None
) -> Measured | None:
    """The measurements for this data on the task's profile: in task.toml, or of this machine.

    Speed depends on the machine, so a timed task prefers this machine's measurements. A task whose
    programs use a model has measurements for each model. This machine's measurements of a starter,
    solution or grader that has changed since do not count.
    """
    tool = tool or task.spec.tool_model
    shipped = shipped_measurements(task, tier, tool)
    if shipped is not None and shipped.data != data_hash:
        shipped = None
    own = _read(task, home_file(task, tier, data_hash, tool))
    return own or shipped if task.spec.kind == "timed" else shipped or own


def how_to_measure(address: str, tier: str, profile: Profile | None) -> str:
    """The command that measures a task, named as on the command line."""
    of_profile = " --profile gpu" if profile == "gpu" else ""
    return f"mlagentbench tasks measure {address} --tier {tier}{of_profile}"


def shipped_measurements(task: Task, tier: Tier, tool: str | None = None) -> Measured | None:
    """Those in task.toml, of the public draw, if they were made with this tool model."""
    shipped = task.shipped_measurements(tier)
    return None if shipped is None or shipped.tool != (tool or task.spec.tool_model) else shipped


def store_in_home(task: Task, tier: Tier, measured: Measured) -> Path:
    file = home_file(task, tier, measured.data, measured.tool)
    own = measured.model_copy(update={"programs": programs_hash(task)})
    write_atomically(file, own.model_dump_json(indent=2).encode())
    return file


def home_file(task: Task, tier: Tier, data_hash: str, tool: str | None = None) -> Path:
    with_tool = "" if tool is None else f"-{tool.replace('/', '_')}"
    directory = baselines_dir(task.id, task.spec.version, measured_key(tier, task.profile))
    return directory / f"{data_hash}{with_tool}.json"


def write_to_task(task: Task, tier: Tier, measured: Measured) -> Path:
    """Write the measurements to task.toml, leaving the rest of the file unchanged."""
    import tomlkit

    original = task if task.spec.variant_of is None else load_task(task.spec.variant_of)
    file = original.folder / "task.toml"
    document = tomlkit.parse(file.read_text(encoding="utf-8"))
    parent = document if original is task else document["renamed"]
    table = tomlkit.table()
    for key, value in measured.model_dump(exclude_none=True).items():
        if isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            table[key] = inline
        else:
            table[key] = value
    if "measured" not in parent:
        parent["measured"] = tomlkit.table(is_super_table=True)
    parent["measured"][measured_key(tier, task.profile)] = table
    write_atomically(file, tomlkit.dumps(document).encode())
    return file


def _read(task: Task, file: Path) -> Measured | None:
    """The measurements in a file, if they are of the task's present programs."""
    if not file.is_file():
        return None
    try:
        found = Measured.model_validate_json(file.read_bytes())
        return found if found.programs == programs_hash(task) else None
    except ValidationError as error:
        raise UsageError(
            f"{file}: not valid measurements ({error.error_count()} errors); "
            "delete it and measure again: mlagentbench tasks measure"
        ) from error
