"""Packages that extend ours, installed in a directory of a test."""

import os
from collections.abc import Mapping
from pathlib import Path


def install_plugin(site: Path, name: str, modules: Mapping[str, str]) -> None:
    """A distribution whose first module is a plugin."""
    first = next(iter(modules))
    info = site / f"{first}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[mlagentbench.plugins]\n{name} = {first}\n")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)


def with_plugins(site: Path) -> dict[str, str]:
    """The variables of a process that finds the packages in this directory."""
    found = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
