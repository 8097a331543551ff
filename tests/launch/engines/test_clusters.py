"""Real clusters of three nodes lose their driver and a node: the runs become what they would be."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import ClusterRuns, finished, killed
from real_engines import (
    RayCluster,
    SlurmCluster,
    kill_with_children,
    ray_cluster,
    slurm_cluster,
    wait_for,
)

pytestmark = [pytest.mark.slow, pytest.mark.engine]

RUNS = 24
WORKERS = "3"
NAP = 0.8
"""Seconds of each of the six steps: the runs must outlast what Slurm needs to lose a node."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clusters")


@pytest.fixture(scope="module")
def one_machine(folder: Path, environment_variables: dict[str, str]) -> ClusterRuns:
    """The same runs, which nothing disturbed."""
    # The naps need no cores, so many runs at once are no hurry for any of them.
    crowd = {"MLAGENTBENCH_ALLOCATION": str(folder), "MLAGENTBENCH_ALLOCATION_CPUS": "8"}
    runs = ClusterRuns(folder, "one-machine", RUNS, environment_variables | crowd, NAP)
    finished(runs.start("--jobs", "8"), runs)
    return runs


@pytest.fixture
def slurm() -> Iterator[SlurmCluster]:
    with slurm_cluster() as cluster:
        yield cluster


@pytest.fixture
def ray() -> Iterator[RayCluster]:
    with ray_cluster() as cluster:
        yield cluster


def test_slurm_loses_the_driver_and_a_node(
    slurm: SlurmCluster,
    folder: Path,
    environment_variables: dict[str, str],
    one_machine: ClusterRuns,
) -> None:
    runs = ClusterRuns(folder, "slurm", RUNS, environment_variables | slurm.variables)
    driver = runs.start("--engine", "slurm", "--jobs", WORKERS, "--engine-options", "time=10m")
    runs.wait_until("running", 3)
    killed(driver)
    [element] = slurm.elements("--nodelist", "n1")
    [lost] = slurm.step_daemons("n1")
    slurm.kill_daemon("n1")
    wait_for("the element is queued again", lambda: slurm.restarts(element) == 1)
    # Slurm has given up the node, and its worker is alive.
    kill_with_children(lost, when=lambda: _in_a_step_on(runs, "n1"))
    runs.wait_until("done", RUNS)
    assert runs.differences(one_machine) == []
    assert runs.nodes().keys() == {"n1", "n2", "n3"}
    places = [place for run in runs.directories() for place in runs.places(run)]
    assert {place.engine for place in places} == {"slurm"}
    assert {place.job.partition("_")[0] for place in places} == {element.partition("_")[0]}
    again = {place.node for place in places if place.job == element} - {"n1"}
    assert again, "the element that was queued again has done nothing"
    moved = [[place.node for place in runs.places(run)] for run in runs.directories()]
    assert any(one[0] == "n1" and len(set(one)) > 1 for one in moved)
    wait_for("all elements have ended", lambda: not slurm.elements())


def _in_a_step_on(runs: ClusterRuns, node: str, at_most: int = 100) -> bool:
    """Whether a worker on that node is carrying out an action of a run, after a few others."""
    return any(runs.places(run)[-1].node == node for run in runs.in_a_step(at_most))


def test_ray_loses_the_driver_and_a_node(
    ray: RayCluster, folder: Path, environment_variables: dict[str, str], one_machine: ClusterRuns
) -> None:
    runs = ClusterRuns(folder, "ray", RUNS, environment_variables | ray.variables)
    driver = runs.start("--engine", f"ray:{ray.address}", "--jobs", WORKERS)
    runs.wait_until("running", 3)
    killed(driver)
    dead = ray.node_id("n1")[:12]
    wait_for("a run on n1 has begun", lambda: _in_a_step_on(runs, dead, at_most=2))
    ray.kill_node("n1")
    runs.wait_until("done", RUNS)
    assert runs.differences(one_machine) == []
    nodes = runs.nodes()
    assert len(nodes) == 3
    places = [place for run in runs.directories() for place in runs.places(run)]
    [name] = {place.job for place in places if place.node == dead}
    again = {place.node for place in places if place.job == name} - {dead}
    assert again, "the worker of the dead node was not started on another one"
    moved = [[place.node for place in runs.places(run)] for run in runs.directories()]
    assert any(one[0] == dead and len(set(one)) > 1 for one in moved)
