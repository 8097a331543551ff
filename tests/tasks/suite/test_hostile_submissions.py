"""Submissions that once took their run out of the count, through the real grading."""

import asyncio
import json
import struct
import sys
from pathlib import Path

import pytest
from graded_cases import CASES
from prepared import write_data
from tabular_tasks import TaskModules

from mlagentbench.grading.grade import Scored, score_submission
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_task

ENV = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
NESTED = {"citations": {"1": ["k"]}, "bibtex": "@a{k, title={" * 16_000}


def score(task: str, scratch: Path, submission: str) -> Scored:
    """Grade a file with the small private data of the fuzzed graders."""
    case, submitted = CASES[task](scratch, ENV), scratch / "submitted"
    data = write_data(scratch / "data", {"a.txt": ""}, {**case.private, "inputs/a.txt": ""})
    submitted.mkdir()
    spec = load_task(task)
    (submitted / spec.spec.submission.path).write_text(submission)
    return asyncio.run(score_submission(spec, data, ENV, submitted))


def program_that_answers(text: str) -> str:
    """A tool that writes the same answer to every question."""
    return f"""
import pathlib, sys
for n in range(5):
    pathlib.Path(sys.argv[2], f"q{{n}}.json").write_text({text!r})
"""


@pytest.mark.parametrize("task", ["literature-review-tool", "bibtex-generation"])
def test_an_integer_of_5000_digits_is_no_json(task: str, tmp_path: Path) -> None:
    answer = '{"papers": [{"id": "p1", "value": %s}]}' % ("9" * 5000)
    scored = score(task, tmp_path, program_that_answers(answer))
    assert scored.reason is not None
    assert scored.reason.startswith("q0.json is not a JSON file: Exceeds the limit (4300 digits)")


@pytest.mark.timeout(60)
def test_values_nested_16000_deep_are_read_in_linear_time(tmp_path: Path) -> None:
    """Reading them took 66 seconds an answer, so five answers would exceed the time."""
    answer = json.dumps(NESTED)
    assert score("bibtex-generation", tmp_path, program_that_answers(answer)).score == 0


def test_sizes_with_too_many_digits_to_be_printed_are_refused(tmp_path: Path) -> None:
    model_files = TaskModules("babylm").load("model_files")
    end = 10**4300 - 2
    tensor = {"dtype": "BF16", "shape": [end // 2], "data_offsets": [0, end]}
    header = json.dumps({"w": tensor}).encode()
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(InvalidSubmission, match="its place does not fit its shape"):
        model_files.read_shapes(weights)

    reply = tmp_path / "reply.bin"
    shape = "(0x" + "f" * 4000 + ",)"
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    reply.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    with pytest.raises(InvalidSubmission, match="have the shape a strange one"):
        TaskModules("vectorization").grade.read_reply(reply, (1, 2), "images")


@pytest.mark.slow
def test_a_table_of_198_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    rows = "record_id,encoded_pixels\n" + "1,-\n" * 49_500_000
    scored = score("identify-contrails", tmp_path, rows)
    assert scored.reason == "submission.csv has more than 1,024 lines, expected 12 rows"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (
            "record_id,encoded_pixels\n" + "," * 2_000_001,
            "a row has more than 2,000,000 characters",
        ),
        ("record_id,encoded_pixels\n" + '"\n",' * 600_000, "a row has more than 2,000,000 char"),
        ("record_id,encoded_pixels\n" + "\n" * 2000, "more than 1,024 lines, expected 12 rows"),
        ("x" * 131_000 + ",b\n", f"has the columns {'x' * 50}, b; expected"),
    ],
)
def test_tables_are_read_within_bounds(tmp_path: Path, rows: str, reason: str) -> None:
    scored = score("identify-contrails", tmp_path, rows)
    assert scored.reason is not None and reason in scored.reason
