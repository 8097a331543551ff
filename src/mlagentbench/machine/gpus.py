"""The GPUs of this machine, as nvidia-smi lists them.

A GPU is named by its uuid everywhere else: its index depends on who asks, and its minor number only
names the device file.
"""

import functools
import shutil
import subprocess
from collections.abc import Sequence
from xml.etree import ElementTree

from mlagentbench.errors import RunFailed
from mlagentbench.records import Record

COMMAND = "nvidia-smi"
TIMEOUT = 60.0
"""Seconds; the driver may have to be loaded first."""
UNKNOWN = "N/A"


class Gpu(Record):
    """A GPU. Its device file is /dev/nvidiaMINOR; in WSL2, for one, it has none of its own."""

    uuid: str
    minor: int | None
    name: str


def usable_gpus(visible: str | None = None) -> tuple[Gpu, ...]:
    """The GPUs that runs can be given: of all, or of those that are visible, all with a file."""
    gpus = all_gpus() if visible is None else chosen_gpus(visible, all_gpus())
    return tuple(gpu for gpu in gpus if gpu.minor is not None)


def all_gpus() -> tuple[Gpu, ...]:
    """The GPUs that nvidia-smi lists, in its order; none without nvidia-smi or a driver."""
    command = shutil.which(COMMAND)
    return () if command is None else _listed(command)


@functools.cache
def _listed(command: str) -> tuple[Gpu, ...]:
    """What one nvidia-smi lists; it is asked once, since it may take seconds."""
    try:
        done = subprocess.run([command, "-q", "-x"], capture_output=True, timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailed("harness", f"{command} does not answer: {error}; run it by hand") from error
    return () if done.returncode else parse_listing(done.stdout)


def parse_listing(listing: bytes) -> tuple[Gpu, ...]:
    """The GPUs in what `nvidia-smi -q -x` prints; RunFailed if it cannot be read."""
    try:
        return tuple(map(_gpu, ElementTree.fromstring(listing).iter("gpu")))
    except (ElementTree.ParseError, ValueError) as error:
        raise RunFailed("harness", f"cannot read what {COMMAND} -q -x prints: {error}") from error


def _gpu(element: ElementTree.Element) -> Gpu:
    minor = _text(element, "minor_number")
    return Gpu(
        uuid=_text(element, "uuid"),
        minor=None if minor == UNKNOWN else int(minor),
        name=_text(element, "product_name"),
    )


def _text(element: ElementTree.Element, path: str) -> str:
    found = element.findtext(path)
    if found is None:
        raise ValueError(f"a GPU without {path}")
    return found.strip()


def chosen_gpus(visible: str, gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The GPUs that a list such as CUDA_VISIBLE_DEVICES names, by index or beginning of the uuid.

    As in CUDA, what follows an unknown name is not visible.
    """
    chosen: list[Gpu] = []
    for name in filter(None, map(str.strip, visible.split(","))):
        if name.isdigit():
            found = list(gpus[int(name) : int(name) + 1])
        else:
            found = [one for one in gpus if one.uuid.startswith(name)]
        if len(found) != 1 or found[0] in chosen:
            break
        chosen += found
    return tuple(chosen)
