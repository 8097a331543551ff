"""An ablation table: several settings of one agent in one command, with recorded replies."""

import json
from pathlib import Path

import pytest
from command_line import Run
from number_task import write_number_task

from mlagentbench.models.recording import RecordedReply, RecordingHeader
from mlagentbench.records import Json
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import collect

pytestmark = pytest.mark.slow

VARIANTS: dict[str, dict[str, Json]] = {
    "research": {},
    "research(fact_check=false)": {"fact_check": False},
    "research(plan=false)": {"plan": False},
    "research(retrieval=true)": {"retrieval": True},
}
FIELDS = "Reflection: -\nResearch Plan and Status: -\nFact Check: -\nThought: -\n"
RUN_IT = FIELDS + 'Action: Execute Script\nAction Input: {"script_name": "train.py"}'
SUBMIT = FIELDS + 'Action: Final Answer\nAction Input: {"final_answer": "done"}'


def write_recording(path: Path, settings: dict[str, Json]) -> None:
    """Add the replies for one variant: run the starter, and submit."""
    header = RecordingHeader(
        task="numbers", task_version=1, tier="mini", data_hash="-", agent="research",
        agent_settings=settings, model="-", roles={}, epoch=1, answered_by="a test", created="",
        package="-",
    )  # fmt: skip
    said = [(1, "main", RUN_IT), (2, "fast", "The starter has run."), (2, "main", SUBMIT)]
    replies = [
        RecordedReply(step=step, role=role, number=1, prompt="", reply=text)
        for step, role, text in said
    ]
    with path.open("a") as file:
        file.writelines(f"{line.model_dump_json()}\n" for line in (header, *replies))


def test_one_command_gives_a_table_with_a_row_for_each_setting(run: Run, tmp_path: Path) -> None:
    write_number_task(tmp_path)
    for settings in VARIANTS.values():
        write_recording(tmp_path / "replies.jsonl", settings)
    result = run(
        "run", "--tasks", "./numbers", "--agents", ",".join(reversed(VARIANTS)), "--out", "out",
        "--models", "mlagentbench/recorded", "-M", "file=replies.jsonl",
        "-M", "on_mismatch=continue",
    )  # fmt: skip
    words = [line.split() for line in result.stdout.splitlines()]
    rows = [line[0] for line in words if "mlagentbench/recorded" in line]
    assert rows == list(VARIANTS)
    plans = {}
    for found in collect(tmp_path / "out"):
        history = read_journal(tmp_path / "out" / found.path / "journal.jsonl")
        store = ObjectStore(tmp_path / "out" / "objects")
        first = store.read(history.replies[0].prompt_hash).decode()
        roles = [line.role for line in history.replies]
        used = json.dumps(found.record.disclosure.agent_settings)
        plans[used] = ("Research Plan" in first, "Fact Check" in first, roles.count("fast"))
        assert found.grade is not None
        assert found.grade.valid
    assert plans == {
        "{}": (True, True, 0),
        '{"fact_check": false}': (True, False, 0),
        '{"plan": false}': (False, True, 0),
        '{"retrieval": true}': (True, True, 1),
    }
