"""What the host must provide for a bubblewrap sandbox, and how to fix what is missing."""

import os
import shutil
from pathlib import Path

from mlagentbench.errors import MLAgentBenchError, RunFailed, UsageError

_SETTINGS = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=15000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}


def find_bwrap() -> str:
    """The bubblewrap program; raises UsageError that says how to install it."""
    found = shutil.which("bwrap")
    if found is None:
        raise UsageError(
            "bubblewrap (bwrap) not found; install it with: apt-get install bubblewrap "
            "(dnf install bubblewrap, pacman -S bubblewrap)"
        )
    if os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists():
        raise UsageError(
            "setpriv not found, which the sandbox needs when it is started by root; "
            "install it with: apt-get install util-linux, or run as an ordinary user"
        )
    return str(Path(found).absolute())


def isolation() -> str:
    """How commands are isolated from the host, for disclosure."""
    return "bubblewrap: " + ("separate uid" if os.geteuid() == 0 else "user namespace")


def explain_failure(said: str) -> MLAgentBenchError:
    """Why bubblewrap did not start, with the next step if one is known."""
    refused = ("user namespace", "uid map", "Operation not permitted", "No permissions")
    if any(word in said for word in refused):
        for name, (forbidding, setting) in _SETTINGS.items():
            if _setting(name) == forbidding:
                return UsageError(
                    f"this kernel forbids user namespaces to ordinary users ({said}); "
                    f"allow them with: sudo sysctl -w {setting}"
                )
        return UsageError(
            f"bubblewrap may not create namespaces here ({said}); inside a container, start it "
            "with: docker run --security-opt seccomp=unconfined --security-opt "
            "apparmor=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN"
        )
    if "Unknown option" in said:
        return UsageError(
            f"this bubblewrap is too old ({said}); install version 0.8 or newer (Debian 12, "
            "Ubuntu 24.04, Fedora 38 and later have it)"
        )
    if "execvp" in said and "Permission denied" in said:
        return UsageError(
            f"the virtual environment cannot be read by the sandbox's own user ({said}); "
            "make it readable for all: chmod -R a+rX on its directory and those above it"
        )
    return RunFailed("sandbox", f"bubblewrap did not start: {said or 'no message'}")


def _setting(name: str) -> str | None:
    try:
        return Path(name).read_text(encoding="ascii").strip()
    except OSError:
        return None
