"""A machine on which there is something to get, for the attempts of attacks.py."""

import json
import os
import re
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import mlagentbench
from mlagentbench.sandbox.base import Bind

ATTACKS = Path(__file__).parents[1] / "redteam" / "attacks.py"
NAMES = re.findall(r"^@attack\ndef (\w+)", ATTACKS.read_text(), re.MULTILINE)


def _below(parent: Path, path: Path) -> tuple[str, ...]:
    return path.relative_to(parent).parts if path.is_relative_to(parent) else ()


def _packages(root: Path) -> Iterator[Path]:
    """Where packages of this root's interpreters are."""
    for kind in ("site-packages", "dist-packages"):
        yield from root.glob(f"python3*/{kind}")
        yield root / "python{}.{}".format(*sys.version_info[:2]) / kind


class Host:
    """A machine on which there is something to get."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        marker = f"secret-{secrets.token_hex(8)}"
        self.workspace = place / "workspace"
        self.public = place / "public"
        private = place / "private" / "answers.csv"
        for directory in (self.workspace, self.public / "folder", private.parent):
            directory.mkdir(parents=True)
        private.write_text(marker)
        (self.public / "data.csv").write_text("public")
        (self.public / "folder" / "inner.csv").write_text("public")
        os.environ["MLAGENTBENCH_TEST_KEY"] = marker
        stack.callback(os.environ.pop, "MLAGENTBENCH_TEST_KEY")
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{marker}")
        abstract.listen()
        self.inheritable = os.open(private, os.O_RDONLY)
        os.set_inheritable(self.inheritable, True)
        stack.callback(os.close, self.inheritable)
        harness = Path(mlagentbench.__file__).parent
        roots = (Path("/usr/lib"), Path(sys.base_prefix) / "lib", Path("/opt/python/lib"))
        facts = {
            "marker": marker,
            "hidden": [str(path) for path in (private, place, ATTACKS, harness)],
            "half_hidden": [str(Path.home())],
            "shown_in_it": next(iter(_below(Path.home(), Path(sys.base_prefix))), ""),
            "package_directories": [str(path) for root in roots for path in _packages(root)],
            "walked": "/",
            "harness_pid": os.getpid(),
            "tcp_port": listener.getsockname()[1],
            "abstract_socket": marker,
        }
        (self.workspace / "attacks.py").write_text(ATTACKS.read_text())
        self.facts = self.workspace / "facts.json"
        self.facts.write_text(json.dumps(facts))

    @property
    def binds(self) -> tuple[Bind, ...]:
        names = ("data.csv", "folder")
        return tuple(Bind(source=self.public / n, target=f"/workspace/{n}") for n in names)
