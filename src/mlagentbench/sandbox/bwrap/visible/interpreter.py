"""The Python of a sandbox: which files of the host it consists of, and where they are visible.

A virtual environment and its base interpreter often are in somebody's home. Paths of theirs get
into tracebacks and so into results, so they are visible at fixed places instead.
"""

from pathlib import Path

from mlagentbench.sandbox.bwrap.visible.copies import directory_of
from mlagentbench.sandbox.bwrap.visible.tools import USR
from mlagentbench.sandbox.executor.places import ENVIRONMENT

PREFIX = "/opt/python"
_LIBRARIES = ("lib", "lib64")
_PACKAGES = ("site-packages", "dist-packages")


class Interpreter:
    """The interpreter of a virtual environment, or of a prefix whose packages are not visible."""

    def __init__(self, environment: Path) -> None:
        self._environment = environment.absolute()
        self._is_venv = (environment / "pyvenv.cfg").is_file()
        self._program = (self._environment / "bin" / "python3").resolve()
        self.prefix = self._program.parent.parent
        stays = self.prefix.is_relative_to(USR) or len(str(self.prefix)) < len(PREFIX)
        self.place = str(self.prefix) if stays else PREFIX

    @property
    def program(self) -> str:
        """The interpreter inside the sandbox."""
        return f"{self.place}/bin/{self._program.name}"

    @property
    def bin(self) -> str:
        """Where commands find it and the programs of its packages."""
        return f"{ENVIRONMENT}/bin" if self._is_venv else f"{self.place}/bin"

    @property
    def is_of_the_system(self) -> bool:
        return self.prefix == USR

    def programs(self) -> tuple[dict[str, Path], dict[str, str]]:
        """The names of the interpreter in its prefix: files and links."""
        name = self._program.name
        return {name: self._program}, {
            other: name for other in ("python", "python3") if other != name
        }

    def directories(self) -> dict[str, Path]:
        """What is bound, by its place inside, except the libraries of the prefix."""
        found = {}
        if not self.is_of_the_system:
            files, links = self.programs()
            found[f"{self.place}/bin"] = directory_of(files, links, self._moved())
        if self._is_venv:
            found[f"{ENVIRONMENT}/bin"] = self._scripts()
            for part in self._parts():
                if not part.is_symlink():
                    found[f"{ENVIRONMENT}/{part.name}"] = part
        return found

    def links(self) -> dict[str, str]:
        """Links in the virtual environment, by their places inside."""
        links = [part for part in self._parts() if self._is_venv and part.is_symlink()]
        return {f"{ENVIRONMENT}/{link.name}": str(link.readlink()) for link in links}

    def _parts(self) -> list[Path]:
        parts = [self._environment / name for name in (*_LIBRARIES, "share", "etc")]
        return [part for part in parts if part.is_dir()]

    def libraries(self) -> dict[str, Path]:
        """The library directories of the prefix, by their places inside."""
        both = {f"{self.place}/{name}": self.prefix / name for name in _LIBRARIES}
        return {place: path for place, path in both.items() if path.is_dir()}

    def standard_libraries(self) -> dict[str, Path]:
        """The directories of the standard library, by their places inside."""
        return {
            f"{place}/{found.name}": found
            for place, path in self.libraries().items()
            for found in path.glob(self._library_name())
        }

    def is_its_library(self, path: Path) -> bool:
        """Whether an entry of a library directory is the standard library or the interpreter."""
        its = path.name == self._library_name() or path.name.startswith(
            f"lib{self._library_name()}"
        )
        return its and path.parent.is_relative_to(self.prefix)

    def hidden(self) -> list[str]:
        """Places of packages that are not the virtual environment's."""
        return [
            f"{place}/{name}"
            for place, path in self.standard_libraries().items()
            for name in _PACKAGES
            if (path / name).is_dir() and not (path / name).is_symlink()
        ]

    def texts(self) -> dict[str, str]:
        """Files with paths of the host, as they are inside."""
        texts = {}
        if self._is_venv:
            texts[f"{ENVIRONMENT}/pyvenv.cfg"] = (
                f"home = {self.place}/bin\ninclude-system-site-packages = false\n"
            )
        if self._moved():
            for place, path in self.standard_libraries().items():
                for file in path.glob("_sysconfigdata_*.py"):
                    text = file.read_text(encoding="utf-8")
                    texts[f"{place}/{file.name}"] = text.replace(str(self.prefix), self.place)
        return texts

    def inside(self, path: Path) -> str | None:
        """Where a file of the virtual environment is visible, if it is one."""
        if self._is_venv and path.is_relative_to(self._environment):
            return f"{ENVIRONMENT}/{path.relative_to(self._environment)}"
        return None

    def _library_name(self) -> str:
        """That of the standard library: python3.11."""
        return self._program.name if "." in self._program.name else self._found_library_name()

    def _found_library_name(self) -> str:
        found = sorted(self.prefix.glob("lib*/python3.*/os.py"))
        return found[0].parent.name if found else self._program.name

    def _moved(self) -> list[tuple[str, str]]:
        return [] if self.place == str(self.prefix) else [(str(self.prefix), self.place)]

    def _scripts(self) -> Path:
        """The programs of the virtual environment's packages, with its interpreter."""
        entries = sorted((self._environment / "bin").iterdir())
        is_python = {entry: entry.resolve() == self._program for entry in entries}
        return directory_of(
            {e.name: e for e in entries if e.is_file() and not is_python[e]},
            {e.name: self.program for e in entries if is_python[e]},
            [(str(path), ENVIRONMENT) for path in (self._environment, self._environment.resolve())],
        )
