"""`mlagentbench tasks list` and `tasks show`."""

from collections.abc import Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from mlagentbench.cli.json_printing import print_json
from mlagentbench.cli.tasks.measure_printing import passing
from mlagentbench.grading.score import floor_of
from mlagentbench.records import Json, Tier
from mlagentbench.report.number_format import number_text
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.measured import stored_measurements
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.task import Task, load_task

TIERS: tuple[Tier, ...] = ("mini", "full")


def print_task_list(names: Sequence[str], *, as_json: bool) -> None:
    """These tasks, a few lines each."""
    tasks = [load_task(name) for name in names]
    console = Console()
    if as_json:
        print_json([_facts(task) for task in tasks])
        return
    for task in tasks:
        _print_entry(console, task)
    console.print(
        "↑ higher is better, ↓ lower is better; ± is a standard deviation over runs.\n"
        "More on one: mlagentbench tasks show ID",
        style="dim",
    )


def _print_entry(console: Console, task: Task) -> None:
    """A task in a few lines: what it is and needs, and how it stands in each tier."""
    metric = task.spec.metric
    arrow = "↑" if metric.better == "higher" else "↓"
    console.print(
        f"[bold]{task.id}[/bold]  {task.inspect_name}  [dim]{task.spec.category}[/dim]\n"
        f"  {metric.name} {arrow}; needs {', '.join(_needs(task)) or 'nothing more'}",
        highlight=False,
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for tier in TIERS:
        here = "prepared" if find_prepared(task, tier) else "not prepared"
        table.add_row(f"  {tier}", here, _size(task, tier), _measurements_text(task, tier))
    console.print(table)
    console.print(f"  licence: {_licences(task)}\n", style="dim", no_wrap=True, overflow="ellipsis")


def _size(task: Task, tier: Tier) -> str:
    """Of the prepared data; of what must be fetched, where nobody has prepared them."""
    data, measured = find_prepared(task, tier), task.spec.measured.get(tier)
    size = data.bytes if data else measured.bytes if measured else None
    if size is None and tier == "full":
        known = [file.bytes for source in task.spec.sources for file in source.files]
        size = sum(size for size in known if size is not None)
    return _bytes_text(size) if size else "size unknown"


def _bytes_text(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.1f} KB"


def _licences(task: Task) -> str:
    """Of the full tier's sources; the mini tier is generated, and under the project's own."""
    return "; ".join(dict.fromkeys(source.licence for source in task.spec.sources))


def print_task(name: str, *, as_json: bool) -> None:
    """One task in full."""
    task = load_task(name)
    console = Console()
    if as_json:
        facts = _facts(task) | {"spec": task.spec.model_dump(mode="json")}
        print_json(facts)
        return
    spec = task.spec
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    rows = {
        "title": f"{spec.title} ({spec.category}, {spec.task_type}, {spec.modality})",
        "version": str(spec.version),
        "Inspect name": task.inspect_name,
        "metric": f"{spec.metric.name}, {spec.metric.better} is better, {spec.metric.scale} scale",
        "submission": spec.submission.path,
        "limits": f"{spec.limits.steps} steps, {spec.limits.time / 3600:g} h, "
        f"a command {spec.limits.command_time / 60:g} min",
        "resources": f"{spec.resources.cpus} cores, {spec.resources.memory / 1e9:g} GB memory",
        "python": ", ".join(spec.python.requirements),
        "needs": ", ".join(_needs(task)) or "nothing beyond the package",
        "folder": str(task.folder),
    }
    for key, value in rows.items():
        table.add_row(key, value)
    for tier in TIERS:
        table.add_row(f"{tier} figures", _measurements_text(task, tier, long=True))
        data = find_prepared(task, tier)
        table.add_row(f"{tier} data", str(data.directory) if data else _how_to_prepare(task, tier))
    console.print(table)
    _print_sources(console, task)
    console.print(Markdown(task.problem))


def _print_sources(console: Console, task: Task) -> None:
    for source in task.spec.sources:
        if source.kind == "generated":
            console.print("\nfull data: generated")
            continue
        console.print(f"\nfull data: {source.kind} {source.ref} (licence: {source.licence})")
        if source.page:
            console.print(f"  {source.page}")
        for file in source.files:
            known = {"md5": file.md5, "sha256": file.sha256}
            checksums = [f"{kind} {value}" for kind, value in known.items() if value]
            checksum = ", ".join(checksums) or "no checksum known: unverified"
            size = f"{file.bytes:,} bytes, " if file.bytes else ""
            optional = ", optional" if file.optional else ""
            console.print(f"  {file.path}: {size}{checksum}{optional}", highlight=False)
    console.print()


def _needs(task: Task) -> list[str]:
    spec = task.spec
    needs = {
        "Kaggle (full)": any(source.kind == "kaggle" for source in spec.sources),
        "torch": any(text.startswith("torch") for text in spec.python.requirements),
        "GPU": spec.resources.gpus > 0,
        "a model inside": spec.needs_model,
    }
    return [name for name, needed in needs.items() if needed]


def _how_to_prepare(task: Task, tier: Tier) -> str:
    source = " --from DIR" if tier == "full" and not task.generated else ""
    return f"not prepared (mlagentbench prepare {task.address} --tier {tier}{source})"


def _measured(task: Task, tier: Tier) -> Measured | None:
    """The figures for the data that is here, else those that the task ships."""
    data = find_prepared(task, tier)
    return stored_measurements(task, tier, data.hash) if data else task.spec.measured.get(tier)


def _measurements_text(task: Task, tier: Tier, *, long: bool = False) -> str:
    measured = _measured(task, tier)
    if measured is None:
        command = f" (mlagentbench baseline {task.address} --tier {tier})" if long else ""
        return f"not measured{command}"
    floor, reference = floor_of(task.spec.metric, measured), measured.reference
    starter = measured.starter
    if not long:
        baseline = number_text(starter.mean, starter.std)
        return f"starter {baseline}, reference {number_text(reference.mean, reference.std)}"
    trivial = ", ".join(f"{name} {score:.4g}" for name, score in measured.trivial.items())
    ceiling = f"; ceiling {measured.ceiling:.4g}" if measured.ceiling is not None else ""
    return (
        f"floor {floor:.4g}; starter {starter.mean:.4g} ± {starter.std:.2g} "
        f"({starter.runs} runs{passing(starter)}); bar {measured.bar:.4g}; "
        f"reference {reference.mean:.4g} ± {reference.std:.2g} "
        f"({reference.runs} runs, {reference.source}){ceiling}"
        + (f"; trivial: {trivial}" if trivial else "")
    )


def _facts(task: Task) -> dict[str, Json]:
    spec = task.spec
    tiers: dict[str, Json] = {}
    for tier in TIERS:
        measured, data = _measured(task, tier), find_prepared(task, tier)
        tiers[tier] = {
            "prepared": data is not None,
            "size": _size(task, tier),
            "data_hash": data.hash if data else None,
            "measured": measured.model_dump(mode="json") if measured else None,
        }
    return {
        "id": task.id,
        "inspect_name": task.inspect_name,
        "title": spec.title,
        "category": spec.category,
        "version": spec.version,
        "metric": spec.metric.model_dump(),
        "needs": _needs(task),
        "licences": sorted({source.licence for source in spec.sources}),
        "tiers": tiers,
    }
