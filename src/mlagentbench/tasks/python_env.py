"""One venv per set of requirements (see the contract below; built in full in this file)."""

from pathlib import Path

from mlagentbench.records import Record


class PythonEnv(Record):
    """A venv that is ready: `directory/bin/python`, with the packages that were locked into it."""

    directory: Path
    hash: str
    python_version: str
    packages: dict[str, str]

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"
