"""Keep runs of this machine as natural journals: `python storing.py FAMILY NAME RUN_DIRECTORY`.

Prompts, agents' states and snapshots' contents are left out; so is what tells of the machine.
"""

import argparse
import gzip
import re
from pathlib import Path

from corpus import TASKS, StoredRun, TaskText, write_run

from mlagentbench.records import RunRecord
from mlagentbench.runs.journal import AnyLine, EndLine, ReplyLine, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import find_run, read_grades, read_record
from mlagentbench.tasks.task import load_task, task_folders

LONGEST_STARTER_TEXT = 100_000
_HOST_PATHS = re.compile(r"(?<![\w/.])/(?:root|tmp|work)/(?:[\w.@+-]+/)*")


def store_run(name: str, family: str, directory: Path) -> StoredRun:
    """The run in that directory, ready to be kept."""
    run = find_run(directory)
    store = ObjectStore(run.objects)
    return StoredRun(
        name=name,
        family=family,
        record=_of_any_machine(read_record(run)),
        lines=tuple(_alone(line, store) for line in read_lines(run.journal)),
        grades=tuple(read_grades(run)),
    )


def _of_any_machine(record: RunRecord) -> RunRecord:
    facts = record.disclosure
    hardware = {"cores": facts.hardware.get("cores"), "system": "Linux"}
    disclosure = facts.model_copy(update={"hardware": hardware, "packages": {}})
    path = record.task_path if "/" not in record.task_path else facts.task
    return record.model_copy(update={"disclosure": disclosure, "task_path": path})


def _alone(line: AnyLine, store: ObjectStore) -> AnyLine:
    """A line that needs no object store, and names no directory of the host."""
    match line:
        case EndLine():
            text = line.observation.text
            if line.text is not None:
                text = store.read(line.text).decode()
            seen = line.observation.model_copy(update={"text": _HOST_PATHS.sub("", text)})
            return line.model_copy(update={"observation": seen, "text": None, "output": None})
        case ReplyLine():
            return line.model_copy(update={"state": None})
        case _:
            return line


def store_tasks() -> None:
    """Keep what runs of all tasks start from, so that labels stay right when tasks change."""
    found = {}
    for name in sorted(task_folders()):
        task = load_task(name)
        texts = {
            path.relative_to(task.starter).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(task.starter.rglob("*"))
            if path.is_file()
            and path.suffix in {".py", ".sh", ".md", ".txt", ".json", ".toml"}
            and path.stat().st_size <= LONGEST_STARTER_TEXT
        }
        found[name] = TaskText(
            problem=task.problem, submission=task.spec.submission.path, texts=texts
        )
    entries = ",".join(f'"{name}":{text.model_dump_json()}' for name, text in found.items())
    TASKS.write_bytes(gzip.compress(f"{{{entries}}}".encode(), 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("name")
    parser.add_argument("run", type=Path)
    arguments = parser.parse_args()
    write_run(store_run(arguments.name, arguments.family, arguments.run))
    store_tasks()


if __name__ == "__main__":
    main()
