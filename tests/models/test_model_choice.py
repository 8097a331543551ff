"""Which arguments a model gets, and what results say of who answered."""

from pathlib import Path

import pytest
from asked_run import asked_run
from scripted_model import scripted

from mlagentbench.errors import UsageError
from mlagentbench.models.model_choice import (
    ModelChoice,
    choose,
    parse_arguments,
    require_known_arguments,
    who_answers,
)
from mlagentbench.models.recording import read_recording, record_run, write_recording


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    import asyncio

    file = tmp_path / "recording.jsonl"
    with asked_run(tmp_path / "out", {"main": scripted("yes")}) as run:
        asyncio.run(run.ask("?"))
        recorded = record_run(run.directory, "recorded by two people")
    assert recorded is not None
    write_recording(file, [recorded])
    return file


def test_arguments_are_read_as_inspect_reads_them() -> None:
    assert parse_arguments(["file=a=b.jsonl", "timeout=2.5", "x=true"]) == {
        "file": "a=b.jsonl",
        "timeout": 2.5,
        "x": True,
    }
    for wrong in ("file", "=x", "file=[a"):
        with pytest.raises(UsageError, match="-M"):
            parse_arguments([wrong])


def test_each_model_of_ours_gets_what_it_takes() -> None:
    arguments = {"file": "f", "timeout": 3}
    assert choose("mlagentbench/recorded", arguments).arguments == {
        "file": str(Path("f").absolute())
    }
    assert choose("mlagentbench/mailbox", arguments).arguments == {"timeout": 3}
    assert choose("mlagentbench/reader", arguments).arguments == {}
    assert choose("openai/gpt-5", arguments).arguments == {}
    with pytest.raises(UsageError, match="unknown model mlagentbench/record;"):
        choose("mlagentbench/record", arguments)


def test_an_argument_that_nobody_takes_is_named() -> None:
    require_known_arguments({"file": "f"}, ["mlagentbench/reader", "mlagentbench/recorded"])
    require_known_arguments({}, ["openai/gpt-5"])
    with pytest.raises(UsageError, match=r"-M dir: no .*mlagentbench/mailbox: dir, timeout"):
        require_known_arguments({"dir": "d"}, ["openai/gpt-5", "mlagentbench/recorded"])


def test_who_answers_is_told_with_its_roles(recording: Path, tmp_path: Path) -> None:
    none, real = ModelChoice(name="none"), ModelChoice(name="openai/gpt-5")
    recorded = choose("mlagentbench/recorded", {"file": recording})
    mailbox = choose("mlagentbench/mailbox", {"dir": tmp_path / "box"})
    assert who_answers(none, {"tool": real}).answered_by == "nobody"
    assert who_answers(real, {"edit": real}).answered_by == "model"
    assert who_answers(recorded, {"fast": recorded}).answered_by == "recorded by two people"
    assert who_answers(real, {"edit": mailbox}).answered_by == "model; edit: mailbox"
    assert who_answers(mailbox, {}).recording is None
    found = who_answers(real, {"edit": recorded, "fast": recorded})
    assert found.recording == read_recording(recording).sha256
