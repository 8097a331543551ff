"""Solutions of the hard tier that know one draw by heart.

A solution looks at the public data for what a draw has (findings.py) and prints it. With the
findings of another draw in place of that, it must lose: else knowing the trick would be knowing the
draw.
"""

import json
from collections.abc import Mapping

from mlagentbench.errors import RunFailed
from mlagentbench.records import Json
from mlagentbench.tasks.task import Files, Task

FINDINGS = "findings.py"
_LINE = "findings "
_PROGRAM = """import json


def find(*_data, **_options):
    return json.loads({findings!r})
"""


def findings_in(task: Task, output: str) -> Mapping[str, Json]:
    """What a solution found, from what it printed."""
    lines = [line for line in output.splitlines() if line.startswith(_LINE)]
    if not lines:
        raise RunFailed("task", f"{task.id}: the solution prints no line `{_LINE}JSON`")
    found: Mapping[str, Json] = json.loads(lines[-1].removeprefix(_LINE))
    return found


def hard_coded(task: Task, findings: Mapping[str, Json]) -> Files:
    """The solution with these findings instead of its own."""
    program = _PROGRAM.format(findings=json.dumps(findings))
    return {**task.solution_files(), FINDINGS: program.encode()}
