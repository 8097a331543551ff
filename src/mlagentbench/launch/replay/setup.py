"""What a run stood on and is different where it is replayed: packages, hardware, isolation."""

from collections.abc import Iterator, Mapping

from mlagentbench.launch.replay.result import SetupDifference
from mlagentbench.records import Disclosure, Json
from mlagentbench.runs.disclosure import hardware, packages
from mlagentbench.sandbox.bwrap.prerequisites import isolation
from mlagentbench.tasks.python_env.env import PythonEnv, python_env_with_hash

SHORT_HASH = 12
NEVER_THE_SAME = "speed_probe"
"""A measured time."""


def setup_differences(then: Disclosure, python_env: PythonEnv) -> Iterator[SetupDifference]:
    """Everything that is different here, in this order: python environment, harness, machine."""
    yield from _of_python_env(then, python_env)
    yield from _of_each("harness", then.packages, packages())
    yield from _of_each("hardware", then.hardware, hardware())
    if then.isolation != isolation():
        yield SetupDifference(what="isolation", then=then.isolation, now=isolation())


def _of_python_env(then: Disclosure, now: PythonEnv) -> Iterator[SetupDifference]:
    """Its packages are named where the run kept them, or its environment is here, too."""
    if then.python_env == now.hash:
        return
    yield SetupDifference(
        what="python environment", then=then.python_env[:SHORT_HASH], now=now.hash[:SHORT_HASH]
    )
    here = python_env_with_hash(then.python_env)
    versions = then.python_packages or (here.versions if here is not None else {})
    if versions:
        yield from _of_each("package", versions, now.versions)


def _of_each(
    what: str, then: Mapping[str, Json], now: Mapping[str, Json]
) -> Iterator[SetupDifference]:
    for name in sorted((then.keys() | now.keys()) - {NEVER_THE_SAME}):
        old, new = (str(side.get(name, "not there")) for side in (then, now))
        if old != new:
            yield SetupDifference(what=f"{what}: {name}", then=old, now=new)
