"""Suites: named lists of tasks, each a TOML file in suites/ or a custom one."""

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.records import Record
from mlagentbench.tasks.task import RENAMED, load_task, task_folders

SUITES = Path(__file__).parent / "suites"
EVERY_TASK = "*"

Variant = Literal["original", "renamed", "both"]


class Suite(Record):
    """A description, and the ids (or folders) of tasks; `*` means every known task."""

    description: str = ""
    tasks: tuple[str, ...]


def load_suite(name_or_file: str) -> Suite:
    """The suite of that name, or in that TOML file; a UsageError says what is wrong with it."""
    file = SUITES / f"{name_or_file}.toml"
    if name_or_file.endswith(".toml"):
        file = Path(name_or_file).expanduser()
    if not file.is_file():
        known = suite_names()
        near = difflib.get_close_matches(name_or_file, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise UsageError(f"unknown suite {name_or_file!r}; {hint} (or the path of a TOML file)")
    try:
        suite = Suite.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{file}: {key}: {first['msg']}; "
            'a suite has description = "..." and tasks = ["ID", ...]'
        ) from error
    if not suite.tasks:
        raise UsageError(f"{file}: tasks: names no task")
    return suite


def suite_names() -> list[str]:
    return sorted(file.stem for file in SUITES.glob("*.toml"))


def in_variants(names: Sequence[str], variant: Variant) -> list[str]:
    """The tasks, their renamed variants, or both; a UsageError names those that have none."""
    if variant == "original":
        return list(names)
    lacking = [name for name in names if load_task(name).spec.renamed is None]
    if lacking:
        having = [name for name in sorted(task_folders()) if load_task(name).spec.renamed]
        raise UsageError(
            f"--variant {variant}: no renamed variant of {', '.join(lacking)}; "
            f"tasks that have one: {', '.join(having)}"
        )
    renamed = [f"{name}@{RENAMED}" for name in names]
    return renamed if variant == "renamed" else [*names, *renamed]


def chosen_tasks(names: Sequence[str], suite: str | None) -> list[str]:
    """The tasks named individually or by a suite; a UsageError unless exactly one is given."""
    if bool(names) == (suite is not None):
        what = "both tasks and a suite are" if suite is not None else "no task is"
        raise UsageError(f"{what} named; name tasks, or --suite {' | '.join(suite_names())}")
    listed = list(names) if suite is None else load_suite(suite).tasks
    found: dict[str, None] = {}
    for name in listed:
        found.update(dict.fromkeys(sorted(task_folders()) if name == EVERY_TASK else [name]))
    return list(found)
