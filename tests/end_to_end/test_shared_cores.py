"""Runs of several commands share the cores of a machine, as /proc shows."""

import asyncio
import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from command_line import COMMAND, Run
from inspect_ai.log import read_eval_log
from number_task import STARTER, write_number_task

from mlagentbench.machine.ledger import VARIABLE, Need
from mlagentbench.machine.slots import take_slot
from mlagentbench.records import Record

pytestmark = pytest.mark.slow

TWO_CORES = sorted(os.sched_getaffinity(0))[:2]
MARK = f"burner-{secrets.token_hex(4)}"
SECONDS = 1.5
WAITED = 2.0
BURN = f"""
import os, subprocess, sys
program = "import time\\nend = time.monotonic() + {SECONDS}\\nwhile time.monotonic() < end: pass"
command = [sys.executable, "-c", program, "{MARK}"]
burners = [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]
for burner in burners:
    burner.wait()
"""


class Burner(Record):
    """A busy process in a sandbox: which sandbox, and the cores that it may run on."""

    sandbox: str
    cores: frozenset[int]


def burners() -> list[Burner]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if MARK.encode() not in (status.parent / "cmdline").read_bytes():
                continue
            listed = re.search(r"Cpus_allowed_list:\s*(\S+)", status.read_text())
            sandbox = (status.parent / "ns" / "pid").readlink()
        except OSError:  # it has just ended
            continue
        assert listed is not None
        found.append(Burner(sandbox=str(sandbox), cores=_cores(listed[1])))
    return found


def _cores(listed: str) -> frozenset[int]:
    found: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


@pytest.fixture
def tasks(tmp_path: Path) -> None:
    """`one` needs one core and `two` needs two; both keep all cores busy that they see."""
    for name, cpus in (("one", 1), ("two", 2)):
        folder = write_number_task(tmp_path, name, starter=BURN + STARTER)
        toml = folder / "task.toml"
        toml.write_text(toml.read_text().replace("cpus = 1", f"cpus = {cpus}"))


def started(directory: Path, variables: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, "run", "--agents", "baseline", *arguments],
        cwd=directory,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=partial(os.sched_setaffinity, 0, TWO_CORES),
    )


def watched(commands: Sequence["subprocess.Popen[str]"]) -> list[list[Burner]]:
    """What was busy at many moments, until all commands have ended."""
    moments = []
    while any(command.poll() is None for command in commands):
        if now := burners():
            moments.append(now)
        time.sleep(0.02)
    for command in commands:
        assert command.stdout is not None
        said = command.stdout.read()
        assert command.returncode == 0, said
    return moments


@pytest.mark.skipif(len(TWO_CORES) < 2, reason="needs two cores")
@pytest.mark.usefixtures("tasks")
def test_two_commands_fill_two_cores_and_never_oversubscribe_them(
    tmp_path: Path, environment_variables: dict[str, str], run: Run
) -> None:
    run("tasks", "prepare", "./one", "./two")
    asked = ("--jobs", "auto", "--runs", "3", "--out")
    commands = [
        started(tmp_path, environment_variables, "--tasks", "./one,./two", *asked, "first"),
        started(tmp_path, environment_variables, "--tasks", "./one", *asked, "second"),
    ]
    moments = watched(commands)
    for moment in moments:
        assert len(moment) <= len(TWO_CORES), moment
        sandboxes = {one.sandbox: one.cores for one in moment}
        assert all(cores <= set(TWO_CORES) for cores in sandboxes.values())
        assert sum(map(len, sandboxes.values())) == len(frozenset().union(*sandboxes.values()))
    at_once = [len({one.sandbox for one in moment}) for moment in moments]
    widths = {len(one.cores) for moment in moments for one in moment}
    assert max(at_once) == 2, "two runs of one core were never busy at the same time"
    assert widths == {1, 2}
    assert list(Path(environment_variables[VARIABLE]).iterdir()) == []
    records = [json.loads(path.read_text()) for path in tmp_path.glob("*/runs/*/*/*/*/*/run.json")]
    held = {(one["disclosure"]["task"], one["disclosure"]["resources"]["cpus"]) for one in records}
    assert len(records) == 9 and held == {("one", 1), ("two", 2)}


@pytest.mark.usefixtures("tasks")
def test_waiting_for_a_slot_is_no_run_time_and_a_finished_run_does_not_wait(
    tmp_path: Path, environment_variables: dict[str, str], run: Run
) -> None:
    run("tasks", "prepare", "./one")
    need = Need(cpus=1024, memory=2**60)
    with asyncio.run(take_slot(need, "a test")):
        command = started(tmp_path, environment_variables, "--tasks", "./one", "--out", "out")
        assert command.stdout is not None
        lines = iter(command.stdout.readline, "")
        said = next(line for line in lines if "waiting for" in line)
        assert "one (mini): baseline, run 1: waiting for a slot of 1 core, 1 GB" in said
        assert "held by a test" in said
        begun = time.time()
        time.sleep(WAITED)
        released = time.time()
    command.communicate(timeout=300)
    assert command.returncode == 0
    [journal] = tmp_path.glob("out/runs/*/*/*/*/*/journal.jsonl")
    first = json.loads(journal.read_text().splitlines()[0])
    assert first["clock"] == 0.0 and first["at"] > released
    [log] = (tmp_path / "out/logs").glob("*.eval")
    [sample] = read_eval_log(str(log)).samples or []
    assert sample.total_time is not None and sample.working_time is not None
    assert sample.total_time - sample.working_time >= released - begun
    with asyncio.run(take_slot(need, "a test")):
        again = run("run", "--tasks", "./one", "--agents", "baseline", "--out", "out")
        assert "waiting for a slot" not in again.stdout + again.stderr
