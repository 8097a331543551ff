"""Slots for measurements of many runs at once that hardly use the processors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from mlagentbench.machine import allocation


@contextmanager
def slots_for(runs: int) -> Iterator[None]:
    """Let this process and its children believe that the machine has as many slots as that."""
    plenty = {
        allocation.NAME: f"bench {os.getpid()}",
        allocation.CPUS: str(runs * 64),
        allocation.MEMORY: str(runs * 2**40),
    }
    with patch.dict(os.environ, plenty):
        yield
