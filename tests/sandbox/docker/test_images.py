"""Images without a real engine: how they are found, and which base images are refused."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.home import images_dir
from mlagentbench.sandbox.docker.container_engine import ContainerEngine
from mlagentbench.sandbox.docker.images import ImageEnvs, image_of
from mlagentbench.tasks.python_env.env import PythonEnv

MakeEngine = Callable[..., ContainerEngine]

FACTS = '{"version": "3.11.2", "machine": "x86_64", "libc": "glibc 2.36", "has_pip": true}'
ENGINE = f"""#!/bin/sh
here=$(dirname "$0")
case "$*" in
*json*Volumes*base) cat "$here/volumes" ;;
"image inspect"*base) echo sha256:base ;;
"image inspect"*mlagentbench-env:*) cat "$here/built" ;;
commit*) echo "$here" | tee "$here/built" ;;
rm*) ;;
*has_pip*) echo '{FACTS}' ;;
run*) echo "$@" >"$here/install"; echo '{{}}' ;;
*) exit 3 ;;
esac 2>/dev/null
"""


@pytest.fixture
def make_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeEngine:
    """Engines of several machines with one home; the id of an image is that of its machine."""
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))

    def make(machine: str, volumes: str = "null") -> ContainerEngine:
        program = tmp_path / machine / "docker"
        program.parent.mkdir()
        program.write_text(ENGINE)
        program.chmod(0o755)
        (program.parent / "volumes").write_text(volumes)
        return ContainerEngine(program=str(program))

    return make


def built(engine: ContainerEngine) -> PythonEnv:
    return asyncio.run(ImageEnvs(engine, "base", "docker").ensure((), announce=print))


def test_machines_that_share_a_home_have_the_same_image(make_engine: MakeEngine) -> None:
    first, second = make_engine("first"), make_engine("second")
    one = built(first)
    [facts] = images_dir().glob("*/env.json")
    written = facts.read_bytes()
    assert ImageEnvs(second, "base", "docker").find(()) is None
    other = built(second)
    assert facts.read_bytes() == written
    assert one.directory == other.directory == facts.parent
    assert one.image == str(Path(first.program).parent)
    assert other.image == str(Path(second.program).parent)
    assert ImageEnvs(first, "base", "docker").find(()) == one
    assert ImageEnvs(second, "base", "docker").find(()) == other
    image = image_of(facts.parent)
    assert (image.tag, image.base) == (f"mlagentbench-env:{facts.parent.name}", "sha256:base")


def test_packages_are_installed_from_a_home_at_any_path(
    make_engine: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "a,b"))
    engine = make_engine("first")
    built(engine)
    said = Path(engine.program).with_name("install").read_text()
    assert f'--mount type=bind,"src={tmp_path}/a,b/' in said


def test_base_images_with_volumes_are_refused(make_engine: MakeEngine) -> None:
    with pytest.raises(
        UsageError, match=r"image base declares volumes \(/var/lib/data\), .*--image"
    ):
        built(make_engine("first", '{"/var/lib/data": {}}'))
    assert built(make_engine("second", "{}")).image is not None
