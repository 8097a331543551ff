"""What `mlagentbench tasks show` prints."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.cli.tasks.task_facts import measurements_text, needs, task_facts, tiers_of
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Profile, Tier
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.spec import Resources, TaskLimits
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal, markdown, print_json, text_line
from mlagentbench.untrusted_text import one_line

MIN_TEXT = 20
"""Columns of the terminal that texts have at least."""


def print_task(name: str, tier: Tier = "mini", *, as_json: bool) -> None:
    """One task in full, with the problem of a tier."""
    task = load_task(name, tier)
    console = Terminal()
    if as_json:
        facts = task_facts(task) | {"spec": task.spec.model_dump(mode="json")}
        print_json(facts)
        return
    spec = task.spec
    rows: dict[str, str | Path] = {
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
        "folder": task.folder,
    }
    plain = load_task(name)
    tiers = [fact for tier in tiers_of(plain) for fact in _tier_facts(plain.on_tier(tier), tier)]
    shown = [*rows.items(), *tiers]
    width = max(len(name) for name, _ in shown) + 1
    for name, value in shown:
        _print_fact(console, name, value, width)
    _print_sources(console, task)
    console.print(markdown(task.problem))


def _tier_facts(task: Task, tier: Tier) -> Iterator[tuple[str, str | Path]]:
    """The measurements of a tier, and its data: where they are and where they came from."""
    yield f"{tier} measured", measurements_text(task, tier, long=True)
    if tier == "full" and "gpu" in task.spec.profiles:
        on_gpu = measurements_text(task.on_profile("gpu"), tier, long=True)
        yield "full measured, gpu profile", on_gpu
    data = find_prepared(task, tier)
    if data is None:
        yield f"{tier} data", _how_to_prepare(task, tier)
        return
    yield f"{tier} data", data.directory
    if data.sources:
        yield f"{tier} data from", Path(data.origin) if data.is_own else data.origin
        yield f"{tier} data made", f"{data.when}, source files {data.sources[:12]}"
    for difference in data.accepted:
        yield "accepted difference", difference


def _print_fact(console: Terminal, name: str, value: str | Path, width: int) -> None:
    """A name and a text that is wrapped beside it; paths are never cut, so they can be copied."""
    lines = [str(value)]
    if isinstance(value, str):
        room = max(console.width - width, MIN_TEXT)
        lines = textwrap.wrap(one_line(value), room, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines or [""]):
        label = f"{name if number == 0 else '':{width}}"
        console.print(text_line(label, "bold") + text_line(line), soft_wrap=True)


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
        console.print(
            f"full data: {source.kind} {source.ref} (licence: {source.licence})", soft_wrap=True
        )
        if source.page:
            console.print(f"  {source.page}", soft_wrap=True)
        for file in source.files:
            known = {"md5": file.md5, "sha256": file.sha256}
            checksums = [f"{kind} {value}" for kind, value in known.items() if value]
            checksum = ", ".join(checksums) or "no checksum known: unverified"
            size = f"{file.bytes:,} bytes, " if file.bytes else ""
            optional = ", optional" if file.optional else ""
            console.print(f"  {file.path}: {size}{checksum}{optional}", soft_wrap=True)
    console.print()


def _how_to_prepare(task: Task, tier: Tier) -> str:
    source = " --from DIR" if tier == "full" and not task.generated else ""
    return f"not prepared (mlagentbench tasks prepare {task.address} --tier {tier}{source})"
