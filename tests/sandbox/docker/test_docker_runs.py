"""Whole runs in containers of a real engine: from start to grade, and killed in the middle."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import COMMAND
from courses import react
from docker_engine import BASE, DockerEngine
from killing import Harness
from real_engines import wait_for
from undisturbed import differences

from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import read_run, run_directories

pytestmark = [pytest.mark.slow, pytest.mark.engine]

TASKS = {"house-price": "baseline", "spaceship-titanic": "oracle", "vectorization": "oracle"}
IN_THE_MIDDLE = (("end line", 2), ("grading", 1))


@pytest.fixture
def variables(engine: DockerEngine) -> Iterator[dict[str, str]]:
    """For commands whose default sandbox is docker, on a machine without bubblewrap."""
    yield {**os.environ, "MLAGENTBENCH_SANDBOX": "docker", "COLUMNS": "120"}
    wait_for("its containers are gone", lambda: not engine.containers(), 30)
    assert (engine.volumes(), engine.dangling_images()) == ([], [])


def without_bubblewrap(tmp_path: Path) -> str:
    """A PATH on which there is everything but bubblewrap."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for directory in map(Path, reversed(os.environ["PATH"].split(os.pathsep))):
        for program in directory.iterdir() if directory.is_dir() else ():
            link = programs / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    (programs / "bwrap").unlink()
    return str(programs)


def test_three_tasks_from_start_to_grade(tmp_path: Path, variables: dict[str, str]) -> None:
    out = tmp_path / "out"
    nowhere = {**variables, "PATH": without_bubblewrap(tmp_path)}
    for task, agent in TASKS.items():
        command = [str(COMMAND), "run", "--tasks", task, "--agents", agent, "--out", str(out)]
        done = subprocess.run(command, env=nowhere, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "sandbox docker" in done.stdout
    results = [read_run(run) for run in run_directories(out)]
    assert {one.record.disclosure.task for one in results} == set(TASKS)
    for one in results:
        facts, grade = one.record.disclosure, one.grade
        assert grade is not None and grade.valid, one
        assert grade.success is (facts.agent == "oracle")
        assert (facts.sandbox, facts.image, facts.tools) == ("docker", BASE, None)
        assert facts.isolation.startswith("container of docker ")
        assert (facts.image_id or "").startswith("sha256:")
    run = next(iter(run_directories(out)))
    command = [str(COMMAND), "runs", "regrade", str(run.path)]
    again = subprocess.run(command, env=nowhere, capture_output=True, text=True, timeout=100)
    assert again.returncode == 0, again.stderr


def test_a_killed_run_becomes_what_it_is_in_bubblewrap(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    course = react(tmp_path)
    in_bubblewrap = {**variables, "MLAGENTBENCH_SANDBOX": "bubblewrap"}
    undisturbed = Harness(course, tmp_path, "bubblewrap", in_bubblewrap)
    undisturbed.finish()
    killed = Harness(course, tmp_path, "docker", variables)
    kills = [killed.kill_in(moment, times) for moment, times in IN_THE_MIDDLE]
    killed.finish()
    assert [kill.met for kill in kills] == ["in a step", "grading"]
    assert not any(kill.left_processes for kill in kills)
    assert differences(undisturbed, killed) == []
    assert read_run(killed.run).record.disclosure.sandbox == "docker"
    assert len(read_journal(killed.run.journal).steps) > 3


def test_a_build_that_is_killed_leaves_no_image(
    tmp_path: Path, engine: DockerEngine, variables: dict[str, str]
) -> None:
    before = set(engine.ask("images", "--quiet").split())
    fresh = {**variables, "MLAGENTBENCH_HOME": str(tmp_path / "home")}
    script = """
import asyncio
from mlagentbench.sandbox.docker.docker_provider import DOCKER
envs = DOCKER.python_envs(None)
print(asyncio.run(envs.ensure(["packaging==24.2"], announce=lambda text: None)).packages)
"""
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, env=fresh)
    wait_for("the build has begun", engine.containers)
    process.kill()
    process.wait()
    assert set(engine.ask("images", "--quiet").split()) == before
    done = subprocess.run(command, env=fresh, capture_output=True, text=True, timeout=200)
    assert done.stdout == "{'packaging': '24.2'}\n", done.stderr
    made = set(engine.ask("images", "--quiet").split()) - before
    engine.ask("rmi", *made)
    assert len(made) == 1
