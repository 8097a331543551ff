"""Tiny packages and a package index for the tests, so that pip needs no network."""

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path


class PackageIndex:
    """A directory in the layout of a package index, with metadata beside each file.

    simple/NAME/index.html lists the wheels in files/.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = (root / "simple").as_uri()
        (root / "simple").mkdir(parents=True)
        (root / "files").mkdir()

    def add(
        self, name: str, version: str = "1.0", requires: Sequence[str] = (), size: int = 0
    ) -> Path:
        """A wheel with one module, which holds its version and `size` more bytes."""
        wheel = self.root / "files" / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
        module = name.replace("-", "_")
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{module}.py", f"VERSION = {version!r}\n")
            archive.writestr(f"{module}_data.bin", b"\0" * size)
            archive.writestr(f"{info}/METADATA", metadata)
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")
        wheel.with_name(f"{wheel.name}.metadata").write_text(metadata)
        page = self.root / "simple" / name / "index.html"
        page.parent.mkdir(exist_ok=True)
        with page.open("a") as handle:
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            metadata_digest = hashlib.sha256(metadata.encode()).hexdigest()
            handle.write(
                f'<a href="../../files/{wheel.name}#sha256={digest}" '
                f'data-core-metadata="sha256={metadata_digest}">{wheel.name}</a>\n'
            )
        return wheel
