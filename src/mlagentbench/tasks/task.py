"""A task is a folder with fixed file names; this reads it and checks its task.toml.

<task-id>/
  task.toml    what the task is (TaskSpec)
  problem.md   what the agent is told
  starter/     the files it starts from
  prepare.py   prepare(raw, public, private, rng)
               resplit(raw, given_public, given_private, public, private, rng): only where the full
               tier is real data; another split, in which only rows of the given test part are
               tested: a random half of it, by whole groups; the other half joins the training
               part
               hold_out(public, held_public, held_private, rng): optional, for feedback; from
               public/ it makes a smaller one, with the inputs of the part held out, and that
               part's answers, laid out as grade.py expects its private. The agent writes its
               predictions for that part to `validation_` + the submission's name, and grade()
               gets them under the submission's own name.
  mini.py      make(raw, rng): a small raw directory in the official layout
  full.py      make(raw, rng): only where the full tier is generated, too
  trivial.py   predictors(public) -> {name: submission}
               known_good(public) -> submission: only for predictions without a
               sample_submission.csv in public/, and for other submissions that are not in starter/;
               quick to make, and quick to grade
  grade.py     grade(outputs, private) -> Grade; of a timed task grade(outputs, private, public);
               check_format(submission, public)
  requests.py  make(directory, private, rng): only for timed tasks, the requests of one grading
  alterations.py  make(submission, inputs, directory, rng): optional, for programs; writes, at
               every grading with an unforeseeable rng, alterations of the submission to
               directory/NAME/submission and what each is run on to directory/NAME/inputs. In the
               submission's place each is run by [collect], in a sandbox of its own, and grade()
               finds what it wrote in outputs/NAME. The files of all alterations, the unchanged
               one's too, are written in one way, and their inputs are of one size, so that no
               program can tell which it is.
  solution/    laid over the workspace, it proves that the task can be solved
  hard/        only where the task has a hard tier; problem.md, solution/ and any other file of it
               are there instead of the task's own
    make.py    make(public, private, rng, pool): writes the data of a draw and mechanisms.json,
               which says what this draw has, to private/; "eval" and "train" are the pools
    default/   what people write first: NAME.py is laid over the workspace as the script of the
               solution's command, NAME/ as the solution is; all are run by that command, and can
               import what is in shared/
    ablations/ what is almost right, likewise; it is laid over the solution, whose script is called
               reference.py there, so that NAME.py can import it and change a part
    solution/  has findings.py: find() returns, as JSON, what a draw has
    task.toml  optional: the keys that differ, and all of [rules] if any rule does
"""

import ast
import difflib
import hashlib
import shlex
import sys
import tomllib
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.machine.allocation import GpusAsked
from mlagentbench.records import Profile, Record, Tier
from mlagentbench.tasks.spec import Measured, TaskSpec, measured_key

ENTRY_POINT_GROUP = "mlagentbench.tasks"
SUITE = Path(__file__).parent / "suite"
RENAMED = "renamed"
HARD: Tier = "hard"
"""The tier, and the folder of what differs in it."""
DEFAULT, ABLATIONS = "default", "ablations"
SHARED = "shared"
"""What several programs of the default import."""
REFERENCE = "reference.py"
"""The name of the solution's script where ablations import it."""

Files = dict[str, bytes]
"""The contents of files by their paths below a workspace."""


class Task:
    """A task folder that has been read and checked.

    On a profile it has that profile's limits and resources, in the hard tier that tier's files.
    """

    def __init__(
        self,
        folder: Path,
        spec: TaskSpec,
        profile: Profile | None = None,
        *,
        is_hard: bool = False,
    ) -> None:
        self.folder = folder
        self.spec = spec
        self.profile = profile
        self.is_hard = is_hard

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def inspect_name(self) -> str:
        """Its name for `inspect eval`."""
        if self.address != self.id:
            return f"mlagentbench/folder -T path={self.address}"
        return f"mlagentbench/{self.id.replace('-', '_')}"

    @property
    def address(self) -> str:
        """Its name on the command line: the id, or the path of a folder elsewhere."""
        if self.spec.variant_of is not None:
            return f"{self.spec.variant_of}@{RENAMED}"
        return self.id if task_folders().get(self.id) == self.folder else str(self.folder)

    @property
    def variant(self) -> str:
        return "original" if self.spec.variant_of is None else RENAMED

    @property
    def original_id(self) -> str:
        """The id of the original task, also for a variant."""
        return self.id if self.spec.variant_of is None else self.id.removesuffix(f"-{RENAMED}")

    @property
    def code_folders(self) -> tuple[Path, ...]:
        """Where the task's functions are looked for, in this order."""
        return (self.folder / HARD, self.folder) if self.is_hard else (self.folder,)

    def part(self, name: str) -> Path:
        """A file or folder of the task, in the hard tier its own if it has one."""
        places = [folder / name for folder in self.code_folders]
        return next((place for place in places if place.exists()), places[-1])

    @property
    def has_hard_tier(self) -> bool:
        return (self.folder / HARD).is_dir()

    @property
    def splitter(self) -> str:
        """The module whose functions write public/ and private/."""
        return "make" if self.is_hard else "prepare"

    @property
    def starter(self) -> Path:
        return self.part("starter")

    @property
    def solution(self) -> Path:
        return self.part("solution")

    def solution_files(self) -> Files:
        """The solution's files, as they are laid over a workspace.

        Without the canary: in a submission it proves that hidden files were read.
        """
        return _files_of(self.solution)

    def panel(self, kind: str) -> dict[str, Files]:
        """The programs of the hard tier that are of this kind, by name.

        Each is laid over a workspace and run as the solution is.
        """
        place = self.folder / HARD / kind
        if not (self.is_hard and place.is_dir()):
            return {}
        script = shlex.split(self.spec.commands.solution)[1]
        below = self.solution_files() if kind == ABLATIONS else _files_of(place / SHARED)
        if script in below:
            below[REFERENCE] = below.pop(script)
        found: dict[str, Files] = {}
        for path in sorted(place.iterdir()):
            if path.suffix == ".py":
                found[path.stem] = {**below, script: _without_canary(path.read_bytes())}
            elif path.is_dir() and path.name not in (SHARED, "__pycache__"):
                found[path.name] = {**below, **_files_of(path)}
        return found

    @property
    def has_alterations(self) -> bool:
        """Whether alterations of a submission are run instead of it."""
        return self.part("alterations.py").is_file()

    @property
    def generated(self) -> bool:
        """Whether the full tier is generated, too."""
        return all(source.kind == "generated" for source in self.spec.sources)

    def shipped_measurements(self, tier: Tier) -> Measured | None:
        """The measurements in task.toml, of the tier on this profile."""
        return self.spec.measured.get(measured_key(tier, self.profile))

    def on_profile(self, profile: Profile | None) -> "Task":
        """The task on a profile of the full tier; a UsageError if it has no such profile."""
        if profile is None:
            return self
        known = {"cpu", *self.spec.profiles}
        if profile not in known:
            raise UsageError(
                f"--profile {profile}: {self.id} has no such profile; it has: "
                f"{', '.join(sorted(known))}"
            )
        return Task(self.folder, self.spec.on_profile(profile), profile)

    def on_tier(self, tier: Tier) -> "Task":
        """The task as it is in a tier; a UsageError if it has no hard one and that is meant."""
        return self if self.is_hard == (tier == HARD) else load_folder(self.folder, tier)

    def gpus_asked(self, count: int | None) -> GpusAsked | None:
        """The GPUs that a run must not go without: so many, or else those of the profile.

        A UsageError if these are fewer than the profile has.
        """
        of_profile = self.gpus_of_profile()
        if count is None:
            return of_profile
        if of_profile is not None and count < of_profile.count:
            raise UsageError(
                f"--gpus {count} with --profile gpu: {self.id} has {of_profile.count} on this "
                "profile; leave out --gpus, or use --profile cpu"
            )
        return GpusAsked(count=count, option=f"--gpus {count}", instead="ask for fewer")

    def gpus_of_profile(self) -> GpusAsked | None:
        """The GPUs without which the profile is not what it says."""
        if self.profile != "gpu":
            return None
        return GpusAsked(
            count=self.spec.resources.gpus, option="--profile gpu", instead="use --profile cpu"
        )

    def defines(self, function: str) -> bool:
        """Whether a file of the folder has the function, as in "grade.ceiling"."""
        module, name = function.split(".")
        tree = ast.parse(self.part(f"{module}.py").read_text(encoding="utf-8"))
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)

    @cached_property
    def problem(self) -> str:
        return self.part("problem.md").read_text(encoding="utf-8")

    def run_seed(self, epoch: int) -> int:
        """The seed of a run, the same wherever it is run."""
        return _seed(self.original_id, self.spec.version, "run", epoch) % 2**32

    def public_seed(self, tier: Tier) -> int:
        """The published 128-bit seed of this task version's data."""
        return _seed(self.original_id, self.spec.version, "data", tier)

    def __repr__(self) -> str:
        return f"Task({self.id!r}, version={self.spec.version})"


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _files_of(folder: Path) -> Files:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        file.relative_to(folder).as_posix(): _without_canary(file.read_bytes())
        for file in files
        if "__pycache__" not in file.parts
    }


def _without_canary(contents: bytes) -> bytes:
    return contents.removeprefix(f"{CANARY_LINE}\n".encode())


def load_task(
    name_or_path: str | Path, tier: Tier | None = None, profile: Profile | None = None
) -> Task:
    """The task of that id, or of that folder; a UsageError says what is wrong with it.

    `TASK@renamed` is its renamed variant. In the hard tier it has that tier's files; with a
    profile, it has the limits of the full tier on it.
    """
    task = _load_plain(name_or_path)
    return (task if tier is None else task.on_tier(tier)).on_profile(profile)


def _load_plain(name_or_path: str | Path) -> Task:
    if isinstance(name_or_path, str) and name_or_path.endswith(f"@{RENAMED}"):
        from mlagentbench.tasks.renamed import renamed_folder

        original = load_task(name_or_path.removesuffix(f"@{RENAMED}"))
        return load_folder(renamed_folder(original))
    if isinstance(name_or_path, Path) or "/" in name_or_path or name_or_path.startswith("."):
        return load_folder(Path(name_or_path))
    folders = task_folders()
    name = name_or_path.replace("_", "-")
    if name not in folders:
        near = difflib.get_close_matches(name, folders, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(folders))}"
        raise UsageError(f"unknown task {name_or_path!r}; {hint} (see: mlagentbench tasks list)")
    return load_folder(folders[name])


def task_folders() -> dict[str, Path]:
    """The folders of all tasks by id: the suite's, then those of installed packages."""
    folders = {file.parent.name: file.parent for file in sorted(SUITE.glob("*/task.toml"))}
    for entry in _installed_tasks(tuple(sys.path)):
        try:
            target = entry.load()
            root = Path(target() if callable(target) else target)
        except Exception as error:
            package = entry.dist.name if entry.dist else "a package"
            raise UsageError(
                f"the tasks of {package} ({entry.value}) cannot be loaded: {error!r}; "
                "update or uninstall it"
            ) from error
        for file in [root / "task.toml", *sorted(root.glob("*/task.toml"))]:
            if file.is_file():
                folders.setdefault(file.parent.name, file.parent)
    return folders


@lru_cache(maxsize=4)
def _installed_tasks(_searched: tuple[str, ...]) -> EntryPoints:
    """The entry points of packages with tasks; cached, since searching them is slow."""
    return entry_points(group=ENTRY_POINT_GROUP)


def load_folder(folder: Path, tier: Tier | None = None) -> Task:
    """Read a task folder and check it completely; in the hard tier, with what differs in it."""
    folder = folder.expanduser().absolute()
    file = folder / "task.toml"
    if not file.is_file():
        raise UsageError(f"{folder} is not a task folder: task.toml not found in it")
    values, is_hard = _read_toml(file), tier == HARD
    if is_hard:
        _require_hard(folder)
        if (folder / HARD / "task.toml").is_file():
            file = folder / HARD / "task.toml"
            values = _merged(values, _read_toml(file))
    try:
        spec = TaskSpec.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{file}: {_explain(error)}") from error
    if spec.id != folder.name:
        raise UsageError(f"{file}: id: {spec.id!r} differs from the folder's name {folder.name!r}")
    task = Task(folder, spec, is_hard=is_hard)
    _require_files(task)
    return task


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from error


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Values with changed keys; a table keeps the keys that do not change, except [rules]."""
    merged = dict(values)
    for key, change in changes.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(change, dict) and key != "rules":
            change = _merged(before, change)
        merged[key] = change
    return merged


def _require_hard(folder: Path) -> None:
    """UsageError unless the folder has what a hard tier needs."""
    if not (folder / HARD).is_dir():
        having = [name for name, path in task_folders().items() if (path / HARD).is_dir()]
        raise UsageError(
            f"{folder.name} has no hard tier: no folder {HARD}/ in {folder}; tasks that have one: "
            f"{', '.join(sorted(having)) or 'none'}"
        )
    for name in ("make.py", "problem.md", "solution", DEFAULT, ABLATIONS):
        if not (folder / HARD / name).exists():
            raise UsageError(f"{folder / HARD}: {name} not found; every hard tier has it")


def _require_files(task: Task) -> None:
    folder, spec = task.folder, task.spec
    names = ["problem.md", "prepare.py", "mini.py", "trivial.py", "grade.py"]
    if spec.kind == "timed":
        names.append("requests.py")
    if any(source.kind == "generated" for source in spec.sources):
        names.append("full.py")
    for name in names:
        if not (folder / name).is_file():
            raise UsageError(f"{folder}: {name} not found; every task folder of this kind has one")
    for name in ("starter", "solution"):
        if not (folder / name).is_dir():
            raise UsageError(f"{folder}: {name}/ not found; every task folder has one")
    for path in spec.read_only.paths:
        if not (task.starter / path).exists():
            raise UsageError(f"{folder / 'task.toml'}: read_only.paths: {path!r} not in starter/")


def _explain(error: ValidationError) -> str:
    """The first problem, as `key: what is wrong with it`; a mistyped key before a missing one."""
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"])
    problems: dict[str, str] = {
        "extra_forbidden": "unknown key",
        "missing": "missing key",
    }
    message = problems.get(first["type"], first["msg"].removeprefix("Value error, "))
    near = ""
    if first["type"] == "extra_forbidden":
        matches = difflib.get_close_matches(str(first["loc"][-1]), _known_keys(first["loc"]), n=1)
        near = f"; did you mean {matches[0]}?" if matches else ""
    return f"{key}: {message}{near}" if key else message


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys allowed in the table that holds the key at this location."""
    model: Any = TaskSpec
    for part in location[:-1]:
        if isinstance(part, int) or not hasattr(model, "model_fields"):
            continue
        field = model.model_fields.get(part)
        if field is not None:  # else a key chosen by the author, such as a tier
            model = _record_in(field.annotation)
    return list(model.model_fields) if hasattr(model, "model_fields") else []


def _record_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _record_in(inner)
        if found is not None:
            return found
    return None
