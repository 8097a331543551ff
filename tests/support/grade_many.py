"""Grades many submissions in one process; runs in a sandbox: python grade_many.py CALL.json

Prints a line of JSON for each: the outcomes of grade() and, if asked for, of check_format().
"""

import base64
import importlib
import json
import math
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlagentbench_task  # type: ignore[import-not-found]  # bound beside this file

SUBMITTED = Path("/tmp/submitted")


def main() -> None:
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path.insert(0, "/task")
    grader = importlib.import_module("grade")
    data = {name: Path(f"/data/{name}") for name in call["data"]}
    checked = SUBMITTED / (call["checked"] or "")
    for line in Path(call["submissions"]).read_text(encoding="utf-8").splitlines():
        lay_out(json.loads(line))
        began = time.monotonic()
        outcomes = [outcome(lambda: grader.grade(outputs=SUBMITTED, **data))]
        if call["checked"]:
            outcomes.append(outcome(lambda: grader.check_format(checked, Path("/data/public"))))
        print(json.dumps([outcomes, time.monotonic() - began]), flush=True)


def lay_out(submission: dict[str, str | None]) -> None:
    """Write the files; None stands for a directory, a text that begins with -> for a link."""
    shutil.rmtree(SUBMITTED, ignore_errors=True)
    SUBMITTED.mkdir()
    for name, contents in submission.items():
        place = SUBMITTED / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if contents is None:
            place.mkdir(exist_ok=True)
        elif contents.startswith("->"):
            place.symlink_to(contents[2:])
        else:
            place.write_bytes(base64.b64decode(contents))


def outcome(call: Callable[[], Any]) -> str:
    try:
        grade = call()
    except mlagentbench_task.InvalidSubmission as invalid:
        return f"invalid: {str(invalid)[:200]}"
    except BaseException:  # noqa: BLE001 - the question is whether a grader raises anything else
        return f"crash: {traceback.format_exc()[-1500:]}"
    if grade is None:
        return "checked"
    finite = isinstance(grade, mlagentbench_task.Grade) and math.isfinite(float(grade.score))
    return "score" if finite else f"crash: {grade!r}"


if __name__ == "__main__":
    main()
