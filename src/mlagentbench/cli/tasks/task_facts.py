"""What `tasks list` and `tasks show` say of a task: needs, size and measurements."""

from mlagentbench.cli.tasks.measure_printing import passing
from mlagentbench.grading.success import floor_of
from mlagentbench.numeric.number_format import bytes_text, counted, number_text, spread_text
from mlagentbench.records import Json, Tier
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import how_to_measure, stored_measurements
from mlagentbench.tasks.task import Task


def tiers_of(task: Task) -> tuple[Tier, ...]:
    return ("mini", "hard", "full") if task.has_hard_tier else ("mini", "full")


def needs(task: Task) -> list[str]:
    spec = task.spec
    possible = {
        "Kaggle (full)": any(source.kind == "kaggle" for source in spec.sources),
        "torch": any(text.startswith("torch") for text in spec.python.requirements),
        "GPU": spec.resources.gpus > 0,
        "GPU (optional, full)": "gpu" in spec.profiles,
        "a model inside": spec.needs_model,
    }
    return [name for name, needed in possible.items() if needed]


def data_size(task: Task, tier: Tier) -> str:
    """Of the prepared data; of what must be fetched, where they are not prepared."""
    data, measured = find_prepared(task, tier), task.shipped_measurements(tier)
    size = data.bytes if data else measured.bytes if measured else None
    if size is None and tier == "full":
        known = [file.bytes for source in task.spec.sources for file in source.files]
        size = sum(size for size in known if size is not None)
    return bytes_text(size) if size else "size unknown"


def measured_on(task: Task, tier: Tier) -> Measured | None:
    """The measurements for the data that is here, else those that the task ships."""
    data = find_prepared(task, tier)
    return stored_measurements(task, tier, data.hash) if data else task.shipped_measurements(tier)


def measurements_text(task: Task, tier: Tier, *, long: bool = False) -> str:
    measured = measured_on(task, tier)
    if measured is None:
        command = f" ({how_to_measure(task.address, tier, task.profile)})" if long else ""
        return f"not measured{command}"
    floor, reference = floor_of(task.spec.metric, measured), measured.reference
    starter = measured.starter
    if not long:
        baseline = spread_text(starter.mean, starter.std, None)
        return f"starter {baseline}, reference {spread_text(reference.mean, reference.std, None)}"
    panels = [
        f"{kind}: {', '.join(f'{name} {number_text(score)}' for name, score in scores.items())}"
        for kind, scores in measured.panels.items()
        if scores
    ]
    ceiling = f"; ceiling {number_text(measured.ceiling)}" if measured.ceiling is not None else ""
    return (
        f"floor {number_text(floor)}; starter {spread_text(starter.mean, starter.std, 'SD')} "
        f"({counted(starter.runs, 'run')}{passing(starter)}); bar {number_text(measured.bar)}; "
        f"reference {spread_text(reference.mean, reference.std, 'SD')} "
        f"({counted(reference.runs, 'run')}, {reference.source}){ceiling}"
        + "".join(f"; {panel}" for panel in panels)
    )


def task_facts(task: Task) -> dict[str, Json]:
    spec = task.spec
    tiers: dict[str, Json] = {}
    for tier in tiers_of(task):
        of_tier = task.on_tier(tier)
        measured, data = measured_on(of_tier, tier), find_prepared(of_tier, tier)
        tiers[tier] = {
            "prepared": data is not None,
            "size": data_size(of_tier, tier),
            "data_hash": data.hash if data else None,
            "sources_hash": data.sources or None if data else None,
            "measured": measured.model_dump(mode="json") if measured else None,
        }
    return {
        "id": task.id,
        "inspect_name": task.inspect_name,
        "title": spec.title,
        "category": spec.category,
        "version": spec.version,
        "metric": spec.metric.model_dump(),
        "needs": needs(task),
        "licences": sorted({source.licence for source in spec.sources}),
        "tiers": tiers,
    }
