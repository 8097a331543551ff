"""The docs name files and pages that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from spelled_commands import fault_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mlagentbench"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FILE_OR_FOLDER = re.compile(r"`([\w./-]+(?:/|\.(?:py|md|html|toml|json)))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
YAML = re.compile(r"^```yaml\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
OF_TASK_FOLDERS = {"task.toml"}
"""File names that the page uses for files of every task folder."""


def named_paths(text: str) -> Iterator[str]:
    yield from (path for path in FILE_OR_FOLDER.findall(text) if path not in OF_TASK_FOLDERS)


def exists(path: str) -> bool:
    return (ROOT / path).exists() or (PACKAGE / path).exists()


def test_every_path_of_the_architecture_page_exists() -> None:
    named = list(named_paths(ARCHITECTURE.read_text()))
    assert len(named) > 60
    assert not [path for path in named if not exists(path)]


def test_a_path_that_does_not_exist_is_noticed() -> None:
    [path] = named_paths("Change `grading/no_such_file.py`, not a `word` or `task.toml`.")
    assert not exists(path)


def test_every_folder_of_the_package_is_on_the_architecture_page() -> None:
    named = set(named_paths(ARCHITECTURE.read_text()))
    folders = {
        f"src/mlagentbench/{path.parent.relative_to(PACKAGE)}/"
        for path in PACKAGE.rglob("__init__.py")
        if path.parent != PACKAGE and "suite" not in path.parts
    }
    parts_of_others = {folder for folder in folders if folder.count("/") > 4}
    assert not (folders - named - parts_of_others)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    addresses = LINK.findall(page.read_text())
    inner = [address for address in addresses if not re.match(r"[a-z]+:", address)]
    assert not [address for address in inner if not (page.parent / address).exists()]


def test_every_yaml_block_of_the_docs_can_be_read() -> None:
    blocks = [block for page in PAGES for block in YAML.findall(page.read_text())]
    assert len(blocks) >= 2
    assert all(isinstance(yaml.safe_load(block), dict) for block in blocks)


def test_the_kubernetes_manifest_starts_workers() -> None:
    page = ROOT / "docs" / "clusters" / "kubernetes.md"
    [block] = YAML.findall(page.read_text())
    job = yaml.safe_load(block)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    [worker] = pod["containers"]
    assert worker["command"][:3] == ["mlagentbench", "jobs", "work"]
    assert fault_of(" ".join(worker["command"][1:])) is None
    mounted = {mount["name"] for mount in worker["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    # What Kubernetes demands of a Job with a podFailurePolicy.
    assert pod["restartPolicy"] == "Never"
    for rule in job["spec"]["podFailurePolicy"]["rules"]:
        if "onExitCodes" in rule:
            assert rule["onExitCodes"]["containerName"] == worker["name"]
