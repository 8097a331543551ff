"""Ray as an engine, on a real cluster: leaving and coming back, stopping, and no cluster at all."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import ClusterRuns, cancelled, finished, interrupted, killed, resumed
from real_engines import RayCluster, ray_cluster

pytestmark = [pytest.mark.slow, pytest.mark.engine]


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    with ray_cluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture
def variables(ray: RayCluster, environment_variables: dict[str, str]) -> dict[str, str]:
    return {**environment_variables, **ray.variables}


def test_the_driver_leaves_and_comes_back(
    ray: RayCluster, tmp_path: Path, variables: dict[str, str]
) -> None:
    runs = ClusterRuns(tmp_path, "out", 8, variables, nap=0.8)
    options = ("--engine", f"ray:{ray.address}", "--jobs", "2")
    first = runs.start(*options)
    runs.wait_until("running", 2)
    killed(first)

    follows = f"following the workers that Ray at {ray.address} has already"
    printed, stopped = interrupted(runs, options, follows)
    assert "stopped 2 workers of Ray" in printed
    cancelled(runs, options)
    resumed(runs, options, stopped)
    places = [place for run in runs.directories() for place in runs.places(run)]
    assert {place.engine for place in places} == {"ray"}
    assert {place.job for place in places} == {"worker-0", "worker-1"}


def test_a_missing_cluster_is_named(tmp_path: Path, variables: dict[str, str]) -> None:
    with socket.socket() as nothing:
        nothing.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nothing.getsockname()[1]}"
        runs = ClusterRuns(tmp_path, "out", 1, variables)
        printed = finished(runs.start("--engine", f"ray:{address}"), runs, (2,))
    assert f"no Ray cluster answers at {address}" in " ".join(printed.split())
