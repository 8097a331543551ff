"""Preparing a task's data: once per machine, whole or not at all.

HOME/data/TASK/vN/TIER/HASH/    HASH covers the recipe (code and sources) and the seed
  public/     what the agent gets: mode 0644, time 0, written in random order
  private/    what grading needs; nobody else may enter it
  data.json   the PreparedData

Both tiers go through the task's prepare(): mini.make() or full.make() generate the raw files, or
they come from the task's sources.
"""

import errno
import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Literal

from pydantic import ValidationError

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import fsync_directory, write_atomically
from mlagentbench.guest import mlagentbench_papers, mlagentbench_task
from mlagentbench.home import data_dir, holding
from mlagentbench.records import Record, Tier
from mlagentbench.tasks.contract import CallTask
from mlagentbench.tasks.data import prepared_files
from mlagentbench.tasks.data.progress import Progress, Silent
from mlagentbench.tasks.data.sources import Gathered, bytes_needed, gather
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

MiniSeed = Literal["public", "secret"]

_FACTS = "data.json"
_STAGING = ".tmp-"
_TIMEOUTS: dict[Tier, float] = {"mini": 600.0, "full": 4 * 3600.0}


class PreparedData(Record):
    """A task's data, ready to be used.

    `hash` covers names and contents of all files; `mini_seed` is "public" or "secret:" and the
    seed's own hash, None in the full tier. Data are `verified` when every file of their source
    agreed with a published checksum, or when they are generated.
    """

    directory: Path
    tier: Tier
    hash: str
    recipe: str
    verified: bool
    unverified: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    mini_seed: str | None = None
    files: int
    bytes: int
    created: str

    @property
    def public(self) -> Path:
        return self.directory / "public"

    @property
    def private(self) -> Path:
        return self.directory / "private"


def find_prepared(task: Task, tier: Tier, mini_seed: MiniSeed = "public") -> PreparedData | None:
    """The newest data prepared by the task's present recipe; reads only a few small files."""
    place, recipe = data_dir(task.id, task.spec.version, tier), _recipe(task, tier)
    found = []
    for file in place.glob(f"[!.]*/{_FACTS}"):
        try:
            data = PreparedData(directory=file.parent, **json.loads(file.read_bytes()))
        except ValidationError:  # prepared by another version of this package
            continue
        seed_fits = tier == "full" or (data.mini_seed or "").startswith(mini_seed)
        if data.recipe == recipe and seed_fits:
            found.append(data)
    return max(found, key=lambda data: data.created, default=None)


def require_prepared(task: Task, tier: Tier, mini_seed: MiniSeed = "public") -> PreparedData:
    """As find_prepared; a UsageError with the command to type when there is none."""
    data = find_prepared(task, tier, mini_seed)
    if data is None:
        command = f"mlagentbench tasks prepare {task.address} --tier {tier}"
        if tier == "mini" and mini_seed == "secret":
            command += " --mini-seed secret"
        raise UsageError(f"{task.id}: the {tier} tier is not prepared; run: {command}")
    return data


async def prepare(
    task: Task,
    tier: Tier,
    *,
    call: CallTask,
    python_env: PythonEnv,
    from_dir: Path | None = None,
    accept_unverified: bool = False,
    mini_seed: MiniSeed = "public",
    progress: Progress | None = None,
) -> PreparedData:
    """The task's data, prepared now unless they are there.

    Raises UsageError when the sources cannot be had or are not what they should be, or the disk is
    full, and RunFailed("task") when the task's own code fails. Nothing half-made stays.
    """
    progress = progress or Silent()
    place = data_dir(task.id, task.spec.version, tier)
    place.mkdir(parents=True, exist_ok=True)
    waiting = f"{task.id}: another process is preparing it; waiting"
    lock = f"data-{task.id}-v{task.spec.version}-{tier}"
    with _disk_full_explained(task, place):
        async with holding(lock, lambda: progress.say(waiting)):
            found = find_prepared(task, tier, mini_seed)
            if found is not None and (accept_unverified or not found.accepted):
                return found
            for leftover in place.glob(f"{_STAGING}*"):
                rmtree(leftover)
            _require_space(task, tier, place)
            staging = place / f"{_STAGING}{secrets.token_hex(8)}"
            try:
                making = _Making(task, tier, staging, call, python_env, progress)
                return await making.run(mini_seed, from_dir, accept_unverified)
            finally:
                rmtree(staging, ignore_errors=True)


class _Making:
    """One preparation, in its staging directory."""

    def __init__(
        self,
        task: Task,
        tier: Tier,
        staging: Path,
        call: CallTask,
        python_env: PythonEnv,
        progress: Progress,
    ) -> None:
        self.task = task
        self.tier: Tier = tier
        self.staging = staging
        self.call = call
        self.python_env = python_env
        self.progress = progress

    async def run(
        self, mini_seed: MiniSeed, from_dir: Path | None, accept_unverified: bool
    ) -> PreparedData:
        secret = self.tier == "mini" and mini_seed == "secret"
        seed = secrets.randbits(128) if secret else self.task.public_seed(self.tier)
        raw = self._directory("raw")
        gathered = await self._make_raw(raw, seed, from_dir, accept_unverified)
        self.progress.say(f"{self.task.id}: splitting into public and private")
        made_public, made_private = self._directory("made/public"), self._directory("made/private")
        await self._call(
            "prepare.prepare",
            read={"raw": raw},
            write={"public": made_public, "private": made_private},
            seed=_derived(seed, "prepare"),
        )
        rmtree(raw)
        prepared_files.mark_answers(made_private)
        final = self._directory("final")
        public = prepared_files.write_anew(made_public, final / "public")
        private = prepared_files.write_anew(made_private, final / "private")
        (final / "private").chmod(0o700)
        if secret:
            seed_file = final / "private" / prepared_files.SEED_FILE
            write_atomically(seed_file, f"{seed:032x}\n".encode())
            seed_file.chmod(0o600)
        recipe = _recipe(self.task, self.tier)
        data = PreparedData(
            directory=final.parent.parent / _derived_hash(recipe, seed)[:32],
            tier=self.tier,
            hash=prepared_files.data_hash(public, private),
            recipe=recipe,
            verified=not gathered.unverified,
            unverified=gathered.unverified,
            accepted=gathered.accepted,
            mini_seed=_disclosed(seed, secret) if self.tier == "mini" else None,
            files=len(public) + len(private),
            bytes=sum(file.bytes for file in [*public, *private]),
            created=datetime.now(UTC).isoformat(),
        )
        _publish(final, data)
        return data

    async def _make_raw(
        self, raw: Path, seed: int, from_dir: Path | None, accept_unverified: bool
    ) -> Gathered:
        if self.tier == "mini":
            self.progress.say(f"{self.task.id}: generating the mini tier")
            await self._call("mini.make", write={"raw": raw}, seed=seed)
            return Gathered()
        if any(source.kind == "generated" for source in self.task.spec.sources):
            self.progress.say(f"{self.task.id}: generating the full tier")
            await self._call("full.make", write={"raw": raw}, seed=seed)
        return await gather(
            self.task,
            raw,
            from_dir=from_dir,
            accept_unverified=accept_unverified,
            progress=self.progress,
        )

    async def _call(
        self,
        function: str,
        *,
        write: dict[str, Path],
        seed: int,
        read: dict[str, Path] | None = None,
    ) -> None:
        timeout = _TIMEOUTS[self.tier]
        await self.call(
            self.task, self.python_env, function,
            read=read, write=write, seed=seed, timeout=timeout,
        )  # fmt: skip

    def _directory(self, name: str) -> Path:
        directory = self.staging / name
        directory.mkdir(parents=True)
        directory.chmod(0o755)
        return directory


def _publish(final: Path, data: PreparedData) -> None:
    """Put finished data in their place, in one step."""
    facts = data.model_dump_json(indent=2, exclude={"directory"})
    write_atomically(final / _FACTS, f"{facts}\n".encode())
    if data.directory.exists():
        data.directory.rename(final.parent / "replaced")
    final.rename(data.directory)
    fsync_directory(data.directory.parent)


def _recipe(task: Task, tier: Tier) -> str:
    """A hash of everything that decides what preparation makes, but for the seed."""
    digest = hashlib.sha256(f"1/{task.id}/{task.spec.version}/{tier}\n".encode())
    names = ["prepare.py", "mini.py"] if tier == "mini" else ["prepare.py", "full.py"]
    files = [task.folder / name for name in names] + [Path(mlagentbench_task.__file__)]
    if task.spec.needs_model:
        files.append(Path(mlagentbench_papers.__file__))
    for file in files:
        if file.is_file():
            contents = file.read_bytes()
            digest.update(f"{file.name}\0{len(contents)}\n".encode() + contents)
    if tier == "full":
        for source in task.spec.sources:
            digest.update(source.model_dump_json(exclude={"licence", "page"}).encode())
    return digest.hexdigest()


def _derived(seed: int, purpose: str) -> int:
    """Another 128-bit seed, so that no two steps draw the same numbers."""
    return int(_derived_hash(purpose, seed)[:32], 16)


def _derived_hash(purpose: str, seed: int) -> str:
    return hashlib.sha256(f"{purpose}/{seed:032x}".encode()).hexdigest()


def _disclosed(seed: int, secret: bool) -> str:
    return f"secret:{_derived_hash('mini seed', seed)[:16]}" if secret else "public"


def _require_space(task: Task, tier: Tier, place: Path) -> None:
    needed, free = bytes_needed(task) if tier == "full" else 0, disk_usage(place).free
    if free < needed:
        raise UsageError(
            f"{task.id}: preparing the full tier needs about {needed / 1e6:,.0f} MB, but {place} "
            f"has {free / 1e6:,.0f} MB free; free some space or set MLAGENTBENCH_HOME to a "
            "directory on a larger disk"
        )


@contextmanager
def _disk_full_explained(task: Task, place: Path) -> Iterator[None]:
    """A full disk is the person's to mend, whether we met it or the task's own code did."""
    try:
        yield
    except (OSError, RunFailed) as error:
        if isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        else:
            full = "No space left on device" in error.detail
        if not full:
            raise
        raise UsageError(
            f"{task.id}: the disk of {place} is full ({disk_usage(place).free / 1e6:,.1f} MB "
            "free); no half-made data were kept. Free some space, or set MLAGENTBENCH_HOME to a "
            "directory on a larger disk"
        ) from error


def prepared_with_hash(task: Task, tier: Tier, data_hash: str) -> PreparedData:
    """The very data that an earlier run used; a UsageError when they are not here."""
    for file in data_dir(task.id, task.spec.version, tier).glob(f"[!.]*/{_FACTS}"):
        data = PreparedData(directory=file.parent, **json.loads(file.read_bytes()))
        if data.hash == data_hash:
            return data
    raise UsageError(
        f"{task.id}: the {tier} data of that run (hash {data_hash[:12]}) are not here; "
        f"run: mlagentbench tasks prepare {task.address} --tier {tier}"
    )
