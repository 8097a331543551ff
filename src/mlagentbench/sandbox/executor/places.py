"""Where things are in a sandbox that has the executor."""

HOME = "/home/agent"
EXECUTOR = "/run/executor.py"
LAUNCHER = "/run/program_launcher.py"
ENVIRONMENT = "/opt/env"
TMPFS_PLACES = ("/tmp", "/var/tmp", "/dev/shm", HOME)
MIN_VAR_TMP = 64_000_000
"""Bytes of /var/tmp: Inspect's tools take half of them."""


def tmpfs_size(place: str, size: int) -> int:
    """The size of a writable place outside of the workspace."""
    return max(size, MIN_VAR_TMP) if place == "/var/tmp" else size
