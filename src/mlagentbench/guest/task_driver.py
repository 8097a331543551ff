"""Calls one function of a task folder; runs in a sandbox, in the task's virtual environment.

`python task_driver.py CALL.json` (standard library only, except numpy if a seed is given). The call
names the function, its arguments and the file for the result. An exception in the task's code goes
to stderr, with exit code 1.
"""

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import mlagentbench_task  # type: ignore[import-not-found]  # bound beside this file


def main() -> None:
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path[:0] = call["code"]
    module, _, name = call["function"].partition(".")
    arguments: dict[str, Any] = {key: Path(path) for key, path in call["paths"].items()}
    if call["seed"] is not None:
        import numpy

        arguments["rng"] = numpy.random.default_rng(call["seed"])
    if call["pool"] is not None:
        arguments["pool"] = call["pool"]
    if call["submission"] is not None:
        out = arguments.pop("out")
    try:
        value = getattr(importlib.import_module(module), name)(**arguments)
    except mlagentbench_task.InvalidSubmission as error:
        broken_rule = isinstance(error, mlagentbench_task.BrokenRule)
        outcome: dict[str, Any] = {"invalid": str(error), "broken_rule": broken_rule}
    else:
        if call["submission"] is not None:
            submissions = value if name == "predictors" else {name: value}
            value = write_submissions(submissions, out, call["submission"])
        outcome = {"value": as_json(value)}
    Path(call["result"]).write_text(json.dumps(outcome), encoding="utf-8")


def write_submissions(submissions: dict[str, Any], out: Path, path: str) -> list[str]:
    """Write each predictor's submission to OUT/NAME/PATH: one file, or several below it."""
    for name, contents in submissions.items():
        if isinstance(contents, dict):
            for relative, part in contents.items():
                write(out / name / path / relative, part)
        else:
            write(out / name / path, contents)
    return list(submissions)


def write(file: Path, contents: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(contents.encode() if isinstance(contents, str) else contents)


def as_json(value: Any) -> Any:
    """A value as JSON: Grade and Findings by their fields, numpy's numbers and arrays as Python's.

    A number that is not finite becomes None, except a score, which the caller checks.
    """
    if isinstance(value, mlagentbench_task.Grade):
        return {"score": float(value.score), "extra": as_json(value.extra)}
    if isinstance(value, mlagentbench_task.Findings):
        return as_json(vars(value))
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [as_json(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    return value


if __name__ == "__main__":
    main()
