"""Find the run directories below the paths given on the command line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import LEVELS, run_folders

RUNS = "runs"
DEEPEST = 3
"""How many levels below a directory without runs are searched, to name others in the error."""


@dataclass(frozen=True)
class RunsPlace:
    """An --out directory with its selected runs; `label` is the path as it was given.

    `complete` is true when all of its runs are selected.
    """

    out: Path
    label: str
    runs: tuple[RunDirectory, ...]
    complete: bool


def find_places(given: Sequence[Path]) -> list[RunsPlace]:
    """The --out directories behind these paths, each once: an OUT, its runs/, or a part of that."""
    if not given:
        raise UsageError("no directory given; run: mlagentbench report RESULTS")
    places: dict[Path, RunsPlace] = {}
    for path in given:
        place = _place(path)
        known = places.get(place.out)
        places[place.out] = place if known is None else _joined(known, place)
    return list(places.values())


def _place(given: Path) -> RunsPlace:
    if not given.is_dir():
        reason = "is not a directory" if given.exists() else "does not exist"
        raise UsageError(f"{given} {reason}; name the --out directory of a `mlagentbench run`")
    path = given.resolve()
    is_out = (path / RUNS).is_dir()
    out = path if is_out else _out_above(path)
    top = path / RUNS if is_out else path
    found = [] if out is None else sorted(_run_directories(out / RUNS, top))
    if out is None or not found:
        raise UsageError(f"{given}: {_nothing_here(path)}")
    return RunsPlace(
        out=out,
        label=str(given if is_out else out),
        runs=tuple(RunDirectory(out, run) for run in found),
        complete=top == out / RUNS,
    )


def _out_above(path: Path) -> Path | None:
    """The OUT whose runs/ contains this path, at most as deep as a run directory."""
    for level, folder in enumerate([path, *path.parents]):
        if level > LEVELS:
            return None
        if folder.name == RUNS:
            return folder.parent
    return None


def _run_directories(runs: Path, top: Path) -> Iterator[Path]:
    """Directories at the depth of a run, at or below `top`, that contain a run's files."""
    for run in run_folders(top, LEVELS - len(top.relative_to(runs).parts)):
        if (run / "run.json").exists() or (run / "journal.jsonl").exists():
            yield run


def _joined(first: RunsPlace, second: RunsPlace) -> RunsPlace:
    by_path = {run.path: run for run in (*first.runs, *second.runs)}
    runs = tuple(by_path[path] for path in sorted(by_path))
    return replace(first, runs=runs, complete=first.complete or second.complete)


def _nothing_here(path: Path) -> str:
    deeper = [str(folder.parent) for folder in _deeper(path)]
    if deeper:
        return f"contains no runs itself, but {_listed(deeper)} do; name these instead"
    return "contains no runs; start some with: mlagentbench run --out DIR, or: mlagentbench demo"


def _deeper(path: Path) -> list[Path]:
    patterns = ("/".join(["*"] * depth + [RUNS]) for depth in range(1, DEEPEST + 1))
    return sorted(found for pattern in patterns for found in path.glob(pattern) if found.is_dir())


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + rest
