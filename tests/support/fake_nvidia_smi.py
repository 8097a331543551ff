"""An nvidia-smi on PATH that lists GPUs which are not there."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

GPU = """<gpu id="00000000:0{minor}:00.0">
    <product_name>NVIDIA A100-SXM4-40GB</product_name>
    <uuid>GPU-{minor}b2c3d4e-0000-1111-2222-333344445555</uuid>
    <minor_number>{minor}</minor_number>
    <fb_memory_usage><total>40960 MiB</total><used>3 MiB</used></fb_memory_usage>
    <bar1_memory_usage><total>65536 MiB</total></bar1_memory_usage>
</gpu>"""


def listing(minors: Sequence[int]) -> str:
    """What `nvidia-smi -q -x` prints of GPUs with these minor numbers."""
    gpus = "".join(GPU.format(minor=minor) for minor in minors)
    return f"<?xml version='1.0' ?><nvidia_smi_log><attached_gpus/>{gpus}</nvidia_smi_log>"


def write_fake_nvidia_smi(
    directory: Path, patch: pytest.MonkeyPatch, minors: Sequence[int] = (0, 1)
) -> None:
    """Put it on PATH, first."""
    listed = directory / "gpus.xml"
    listed.write_text(listing(minors))
    command = directory / "nvidia-smi"
    command.write_text(f'#!/bin/sh\n[ "$*" = "-q -x" ] && exec cat {listed}\nexit 2\n')
    command.chmod(0o755)
    patch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
