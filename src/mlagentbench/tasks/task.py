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
"""

import ast
import difflib
import hashlib
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


class Task:
    """A task folder that has been read and checked; on a profile, with its limits and resources."""

    def __init__(self, folder: Path, spec: TaskSpec, profile: Profile | None = None) -> None:
        self.folder = folder
        self.spec = spec
        self.profile = profile

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
    def starter(self) -> Path:
        return self.folder / "starter"

    @property
    def solution(self) -> Path:
        return self.folder / "solution"

    def solution_files(self) -> dict[str, bytes]:
        """The solution's files by their path, as they are laid over a workspace.

        Without the canary: in a submission it proves that hidden files were read.
        """
        files = sorted(path for path in self.solution.rglob("*") if path.is_file())
        return {
            file.relative_to(self.solution).as_posix(): _without_canary(file.read_bytes())
            for file in files
            if "__pycache__" not in file.parts
        }

    @property
    def has_alterations(self) -> bool:
        """Whether alterations of a submission are run instead of it."""
        return (self.folder / "alterations.py").is_file()

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
        tree = ast.parse((self.folder / f"{module}.py").read_text(encoding="utf-8"))
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)

    @cached_property
    def problem(self) -> str:
        return (self.folder / "problem.md").read_text(encoding="utf-8")

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


def _without_canary(contents: bytes) -> bytes:
    return contents.removeprefix(f"{CANARY_LINE}\n".encode())


def load_task(name_or_path: str | Path, profile: Profile | None = None) -> Task:
    """The task of that id, or of that folder; a UsageError says what is wrong with it.

    `TASK@renamed` is its renamed variant. With a profile, it has the limits of the full tier on it.
    """
    return _load_plain(name_or_path).on_profile(profile)


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


def load_folder(folder: Path) -> Task:
    """Read a task folder and check it completely."""
    folder = folder.expanduser().absolute()
    file = folder / "task.toml"
    if not file.is_file():
        raise UsageError(f"{folder} is not a task folder: task.toml not found in it")
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from error
    try:
        spec = TaskSpec.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{file}: {_explain(error)}") from error
    if spec.id != folder.name:
        raise UsageError(f"{file}: id: {spec.id!r} differs from the folder's name {folder.name!r}")
    _require_files(folder, spec)
    return Task(folder, spec)


def _require_files(folder: Path, spec: TaskSpec) -> None:
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
        if not (folder / "starter" / path).exists():
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
