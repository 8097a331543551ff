"""What has to be there before runs can start: data and virtual environments, found or missing."""

import os
from pathlib import Path

from mlagentbench.launch.request import ReadyTasks, RunSettings, SuiteRequest, data_needs
from mlagentbench.records import Record, Tier
from mlagentbench.task_checks.measure import runs_on
from mlagentbench.tasks.data.preparation import find_prepared
from mlagentbench.tasks.draws import PUBLIC, SECRET, fresh_draws, is_fresh, is_public
from mlagentbench.tasks.make_ready import Ready
from mlagentbench.tasks.python_env.env import NOTHING_ADDED, AddedPackages
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task


class MissingPart(Record):
    """Something that is missing, and what it takes; None is unknown."""

    what: str
    download: int | None = None
    """Bytes that are fetched; 0 if it is made here."""
    disk: int | None = None
    next_step: str | None = None
    """The command that has to be run first; None if `run` does it."""


class Needs(Record):
    """What the tasks of a request need."""

    missing: tuple[MissingPart, ...]
    prepared: int
    """Bytes of prepared data that are there."""
    environments: int
    """Bytes of virtual environments that are there; images are on the disk of their engine."""


class UnmeasuredDraws(Record):
    """The draws that are measured before the first run on them, or when a run is rebuilt."""

    number: int
    seconds: float | None
    """By the shipped times of starter and solution; None if a task ships none.

    A program of the hard tier's panel is taken to need as long as the solution.
    """


def find_unmeasured(request: SuiteRequest) -> UnmeasuredDraws:
    """The draws of a request that have no measurements yet, each once; also fresh ones."""
    settings = request.settings
    number, seconds = 0, 0.0
    unknown = False
    for name, given in dict.fromkeys((name, draw) for name, _, draw in data_needs(request)):
        task = settings.task(name)
        shipped = task.shipped_measurements(settings.tier)
        for draw in (given, *fresh_draws(given, settings.fresh_draws or 0)):
            data = find_prepared(task, settings.tier, draw)
            known = data is not None and stored_measurements(task, settings.tier, data.hash)
            if is_public(draw) or (settings.tier == "full" and not is_fresh(draw)) or known:
                continue
            number += 1
            if shipped is None or None in (shipped.starter.seconds, shipped.reference.seconds):
                unknown = True
                continue
            runs = runs_on(settings.tier, draw)
            seconds += runs.starter * (shipped.starter.seconds or 0.0)
            panel = len(shipped.default) + len(shipped.ablations)
            seconds += (runs.reference + panel) * (shipped.reference.seconds or 0.0)
    return UnmeasuredDraws(number=number, seconds=None if unknown else seconds)


def find_ready(request: SuiteRequest) -> ReadyTasks:
    """The tasks that are ready, with what their agents add; nothing is built."""
    ready: ReadyTasks = {}
    envs = request.settings.python_envs()
    for name, added, draw in data_needs(request):
        task = request.settings.task(name)
        data = find_prepared(task, request.settings.tier, draw)
        env = envs.find(task.spec.python.requirements, added)
        if data is not None and env is not None:
            ready[name, added, draw] = Ready(data, env)
    return ready


def find_needs(request: SuiteRequest) -> Needs:
    """What is missing, each thing once."""
    missing: dict[str, MissingPart] = {}
    prepared: dict[Path, int] = {}
    environments: dict[Path, int] = {}
    settings = request.settings
    envs = settings.python_envs()
    for name, added, draw in data_needs(request):
        task = settings.task(name)
        data = find_prepared(task, settings.tier, draw)
        if data is None:
            need = _data(task, settings.tier, draw)
            missing.setdefault(need.what, need)
        else:
            prepared[data.directory] = data.bytes
        for packages in dict.fromkeys((NOTHING_ADDED, added)):
            env = envs.find(task.spec.python.requirements, packages)
            if env is None:
                need = _environment(task, packages, settings)
                missing.setdefault(need.what, need)
            elif env.image is None and env.directory not in environments:
                environments[env.directory] = _size(env.directory)
    return Needs(
        missing=tuple(missing.values()),
        prepared=sum(prepared.values()),
        environments=sum(environments.values()),
    )


def _size(directory: Path) -> int:
    """Bytes of all files; a file that several environments share counts in each."""
    files = (Path(top) / name for top, _, names in os.walk(directory) for name in names)
    return sum(file.lstat().st_size for file in files)


def _data(task: Task, tier: Tier, draw: str) -> MissingPart:
    measured = task.shipped_measurements(tier)
    what = f"data of {task.address}, {tier} tier{'' if draw == PUBLIC else f', draw {draw}'}"
    disk = None if measured is None else measured.bytes
    if tier != "full" or not task.spec.sources:
        secret = f" --draw {SECRET}" if draw == SECRET else ""
        of_tier = "" if tier == "mini" else f" --tier {tier}"
        needed = f"mlagentbench tasks prepare {task.address}{of_tier}{secret}"
        command = needed if tier == "full" or secret else None
        return MissingPart(
            what=f"{what} (generated here)", download=0, disk=disk, next_step=command
        )
    files = [file.bytes for source in task.spec.sources for file in source.files]
    records = [part.budget for source in task.spec.sources for part in source.records]
    known = [size for size in files if size is not None]
    total = int(sum(known) + sum(records)) if known or records else None
    return MissingPart(
        what=what,
        download=total if len(known) == len(files) else None,
        disk=disk,
        next_step=f"mlagentbench tasks prepare {task.address} --tier full",
    )


def _environment(task: Task, added: AddedPackages, settings: RunSettings) -> MissingPart:
    packages = [*task.spec.python.requirements, *added.marks]
    kind = "virtual environment" if settings.image is None else f"image on {settings.image}"
    return MissingPart(what=f"{kind} with {', '.join(packages) or 'no packages'}")
