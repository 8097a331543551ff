"""What `mlagentbench tasks show` prints."""

from rich.table import Table

from mlagentbench.cli.tasks.task_facts import TIERS, measurements_text, needs, task_facts
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Profile, Tier
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared
from mlagentbench.tasks.spec import Resources, TaskLimits
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal, markdown, print_json


def print_task(name: str, *, as_json: bool) -> None:
    """One task in full."""
    task = load_task(name)
    console = Terminal()
    if as_json:
        facts = task_facts(task) | {"spec": task.spec.model_dump(mode="json")}
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
        "rebuilt by": spec.rebuild.command or f"nothing: {spec.submission.path} is graded as it is",
        "fresh draws change": spec.rebuild.fresh,
        "limits": _limits(spec.limits),
        "resources": _resources(spec.resources),
        **{f"full, {name} profile": _profile(task, name) for name in spec.profiles},
        "python": ", ".join(spec.python.requirements),
        "needs": ", ".join(needs(task)) or "nothing beyond the package",
        "folder": str(task.folder),
    }
    for key, value in rows.items():
        table.add_row(key, value)
    for tier in TIERS:
        table.add_row(f"{tier} measured", measurements_text(task, tier, long=True))
        if tier == "full" and "gpu" in spec.profiles:
            on_gpu = measurements_text(task.on_profile("gpu"), tier, long=True)
            table.add_row("full measured, gpu profile", on_gpu)
        data = find_prepared(task, tier)
        table.add_row(f"{tier} data", _where(data) if data else _how_to_prepare(task, tier))
    console.print(table)
    _print_sources(console, task)
    console.print(markdown(task.problem))


def _limits(limits: TaskLimits) -> str:
    return (
        f"{counted(limits.steps, 'step')}, {limits.time / 3600:g} h, "
        f"{limits.command_time / 60:g} min per command"
    )


def _resources(resources: Resources) -> str:
    gpus = f", {counted(resources.gpus, 'GPU')}" if resources.gpus else ""
    return f"{counted(resources.cpus, 'core')}, {resources.memory / 1e9:g} GB memory{gpus}"


def _profile(task: Task, name: Profile) -> str:
    """What a profile assumes, and what it changes."""
    spec, plain = task.spec.on_profile(name), task.spec
    changed = [
        *([_limits(spec.limits)] if spec.limits != plain.limits else []),
        *([_resources(spec.resources)] if spec.resources != plain.resources else []),
    ]
    return "; ".join([plain.profiles[name].hardware, *changed])


def _print_sources(console: Terminal, task: Task) -> None:
    for source in task.spec.sources:
        if source.kind == "generated":
            console.print()
            console.print("full data: generated")
            continue
        console.print()
        console.print(f"full data: {source.kind} {source.ref} (licence: {source.licence})")
        if source.page:
            console.print(f"  {source.page}")
        for file in source.files:
            known = {"md5": file.md5, "sha256": file.sha256}
            checksums = [f"{kind} {value}" for kind, value in known.items() if value]
            checksum = ", ".join(checksums) or "no checksum known: unverified"
            size = f"{file.bytes:,} bytes, " if file.bytes else ""
            optional = ", optional" if file.optional else ""
            console.print(f"  {file.path}: {size}{checksum}{optional}")
    console.print()


def _where(data: PreparedData) -> str:
    if not data.sources:
        return str(data.directory)
    differences = "".join(f"; accepted difference: {text}" for text in data.accepted)
    return (
        f"{data.directory} (from {data.origin}, on {data.when}, source files "
        f"{data.sources[:12]}{differences})"
    )


def _how_to_prepare(task: Task, tier: Tier) -> str:
    source = " --from DIR" if tier == "full" and not task.generated else ""
    return f"not prepared (mlagentbench tasks prepare {task.address} --tier {tier}{source})"
