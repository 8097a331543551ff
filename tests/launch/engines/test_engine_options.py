"""--engine and --engine-options: what can be said, and what is missing for it."""

import sys
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.launch.engines.engine import EngineChoice, choose_engine
from mlagentbench.launch.engines.started import (
    HARNESS_MEMORY,
    StartedJob,
    covers,
    started_jobs,
)
from mlagentbench.launch.request import read_engine
from mlagentbench.machine.ledger import Need
from mlagentbench.terminal import Terminal


def make(choice: EngineChoice, out: Path) -> object:
    return choice.make(out, 1, Terminal())


def with_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands of Slurm are on the PATH."""
    for name in ("sbatch", "srun"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_an_argument_follows_the_name() -> None:
    assert choose_engine("ray:10.0.0.1:6379").argument == "10.0.0.1:6379"
    assert choose_engine("ray") == EngineChoice(name="ray")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("slrum", "--engine slrum: unknown engine"),
        ("local:here", "--engine local:here: write --engine local"),
        ("ray:", r"--engine ray:: write --engine ray\[:ADDRESS\]"),
    ],
)
def test_wrong_engines_are_named(text: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        choose_engine(text)


def test_options_are_read_from_the_command_line_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "slurm.toml"
    file.write_text('partition = "gpu"\ntime = "8h"\nsetup = ["module load python"]\n')
    assert read_engine("slurm", "partition=gpu, time=8h").options == {
        "partition": "gpu",
        "time": "8h",
    }
    assert read_engine("slurm", str(file)).options["setup"] == ["module load python"]
    with pytest.raises(UsageError, match=r"missing\.toml: No such file"):
        read_engine("slurm", str(tmp_path / "missing.toml"))
    file.write_text("partition = ")
    with pytest.raises(UsageError, match=r"slurm\.toml: "):
        read_engine("slurm", str(file))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("queue=gpu", "queue: the engine slurm has no such option; it has: partition, account"),
        ("time=soon", "--engine-options time=soon: "),
        ("time=10s", "--engine-options time=10s: it should be greater than or equal to 60"),
        ("time=2m,stop_before=3m", "a worker of 120 s cannot stop 180 s before its end"),
        ("partition", "'partition' is not of the form key=value"),
    ],
)
def test_wrong_options_of_slurm_are_named(
    options: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_slurm(monkeypatch, tmp_path)
    with pytest.raises(UsageError, match=error):
        make(read_engine("slurm", options), tmp_path)


def test_ray_has_no_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the engine ray has no such option; it has: none"):
        make(read_engine("ray", "partition=gpu"), tmp_path)


def test_missing_extras_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_slurm(monkeypatch, tmp_path)
    for engine, package in (("slurm", "submitit"), ("ray", "ray")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(UsageError, match=rf"pip install 'mlagentbench\[{engine}\]'"):
            make(choose_engine(engine), tmp_path)


def test_a_machine_without_slurm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="sbatch is not on the PATH; run this on a login node"):
        make(choose_engine("slurm"), tmp_path)


def test_what_was_started_is_found_again(tmp_path: Path) -> None:
    need = Need(cpus=2, memory=HARNESS_MEMORY)
    slurm = StartedJob(choice=choose_engine("slurm"), job="7", need=need)
    slurm.write(tmp_path)
    StartedJob(choice=choose_engine("ray"), job="ab", need=need).write(tmp_path)
    (tmp_path / "jobs" / "slurm-1.json").write_text('{"of": "another version"}')
    assert started_jobs(tmp_path, "slurm") == [slurm]
    assert len(started_jobs(tmp_path)) == 2
    assert covers(need, Need(cpus=1, memory=0))
    assert not covers(need, Need(cpus=1, memory=0, gpus=1))
