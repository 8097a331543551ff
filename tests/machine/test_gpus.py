"""What nvidia-smi says, from a fake one on PATH."""

from pathlib import Path

import pytest
from fake_nvidia_smi import listing, write_fake_nvidia_smi

from mlagentbench.errors import RunFailed
from mlagentbench.machine.gpus import all_gpus, chosen_gpus, parse_listing, usable_gpus


def test_the_gpus_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fake_nvidia_smi(tmp_path, monkeypatch, minors=(2, 0))
    first, second = all_gpus()
    assert (first.minor, second.minor) == (2, 0)
    assert first.name == "NVIDIA A100-SXM4-40GB"
    assert first.uuid != second.uuid and first.uuid.startswith("GPU-")


def test_without_nvidia_smi_or_a_driver_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert all_gpus() == ()
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho no driver\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert all_gpus() == ()


def test_a_gpu_without_a_device_file_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fake_nvidia_smi(tmp_path, monkeypatch, minors=(0, 1))
    listed = tmp_path / "gpus.xml"
    without = listed.read_text().replace("<minor_number>0<", "<minor_number>N/A<")
    listed.write_text(without)
    assert [gpu.minor for gpu in usable_gpus()] == [1]
    assert [gpu.minor for gpu in usable_gpus("1")] == [1]
    assert usable_gpus("0") == ()


def test_what_cannot_be_read_is_no_list_of_gpus() -> None:
    with pytest.raises(RunFailed, match="cannot read what nvidia-smi -q -x prints"):
        parse_listing(b"no xml")
    with pytest.raises(RunFailed, match="a GPU without minor_number"):
        parse_listing(listing((0,)).replace("minor_number", "other").encode())


@pytest.mark.parametrize(
    ("visible", "minors"),
    [("0,1", [4, 5]), ("1", [5]), ("", []), ("GPU-5", [5]), ("1,7,0", [5]), ("0,0", [4]),
     ("NoDevFiles", []), ("-1", [])],
)  # fmt: skip
def test_visible_devices_are_read_as_cuda_does(visible: str, minors: list[int]) -> None:
    gpus = parse_listing(listing((4, 5)).encode())
    assert [gpu.minor for gpu in chosen_gpus(visible, gpus)] == minors
