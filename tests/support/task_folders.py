"""Writing task folders: what those of all tests have in common."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

GENERATED = '[[sources]]\nkind = "generated"\n'


def task_toml(
    task_id: str,
    *,
    metric: str = "mean absolute error",
    better: str = "lower",
    submission: str = "submission.csv",
    solution: str = "python solution.py",
    requirements: Sequence[str] = ("numpy",),
    tables: str = GENERATED,
) -> str:
    """A task.toml that is right; `tables` are the sources and whatever else a test wants."""
    needs = ", ".join(f'"{requirement}"' for requirement in requirements)
    return f"""
id = "{task_id}"
title = "A small task"
category = "custom"
task_type = "regression"
modality = "tabular"
kind = "predictions"
version = 1
[metric]
name = "{metric}"
better = "{better}"
[submission]
path = "{submission}"
[commands]
starter = "python train.py"
solution = "{solution}"
[python]
requirements = [{needs}]
{tables}
"""


def write_files(top: Path, files: Mapping[str, str]) -> None:
    """Write texts by relative path; a common indentation is taken away."""
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def write_task_folder(folder: Path, toml: str, files: Mapping[str, str]) -> None:
    """Write a task folder; the full tier is generated like the mini tier."""
    for name in ("starter", "solution"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    common = {"task.toml": toml, "problem.md": "Predict y.", "full.py": files["mini.py"]}
    write_files(folder, {**common, **files})


def with_replaced(files: Mapping[str, str], replaced: Mapping[str, str]) -> dict[str, str]:
    """The files with some replaced, which are given as keyword arguments: `grade_py=...`."""
    return {**files, **{name.replace("_py", ".py"): text for name, text in replaced.items()}}
