"""The pages of the tasks have the measurements that are in task.toml."""

import shutil
from pathlib import Path

import pytest
import task_pages
from task_pages import PAGES, blocks_of, stale_pages, updated_page

from mlagentbench.errors import UsageError
from mlagentbench.tasks.task import load_task

TASK = "house-price"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return shutil.copytree(PAGES, tmp_path / "tasks")


def test_every_page_has_the_measurements_of_its_task() -> None:
    stale = [page.name for page in stale_pages(PAGES)]
    assert not stale, "run: make pages"


def test_a_page_with_another_number_is_written_anew(pages: Path) -> None:
    page = pages / f"{TASK}.md"
    right = page.read_text()
    bar = next(line for line in right.splitlines() if line.startswith("| bar |"))
    page.write_text(right.replace(bar, "| bar | 1 | | |", 1))
    assert stale_pages(pages) == {page: right}


def test_a_page_without_a_block_is_refused(pages: Path) -> None:
    page = pages / f"{TASK}.md"
    page.write_text(page.read_text().replace("<!-- measured: full -->", ""))
    with pytest.raises(UsageError, match=rf"{TASK}\.md: expected blocks for mini, hard, full"):
        stale_pages(pages)


def test_the_text_around_the_blocks_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "vectorization.md"
    mini, hard, full = (
        f"<!-- measured: {tier} -->\nold\n<!-- end -->" for tier in ("mini", "hard", "full")
    )
    page.write_text("\n".join(["before", mini, hard, "between", full, "after"]))
    text = updated_page(page, load_task("vectorization"))
    assert text.startswith("before\n<!-- measured: mini -->\n\n**Mini tier")
    assert "<!-- end -->\nbetween\n<!-- measured: full -->" in text
    assert text.endswith("<!-- end -->\nafter")
    assert "old" not in text


def test_a_table_names_the_floor_and_tells_runs_from_seeds() -> None:
    blocks = blocks_of(load_task(TASK))
    assert set(blocks) == {"mini", "hard", "full", "renamed mini"}
    mini = load_task(TASK).spec.measured["mini"]
    [floor] = [line for line in blocks["mini"].splitlines() if "(floor)" in line]
    assert floor.startswith(f"| `{min(mini.trivial, key=lambda name: mini.trivial[name])}`")
    assert f"{mini.starter.runs}, deterministic" in blocks["mini"]
    assert f"| {mini.reference.runs} | " in blocks["mini"]


def test_check_names_the_page_and_leaves_it(
    pages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = pages / f"{TASK}.md"
    monkeypatch.setattr(task_pages, "PAGES", pages)
    monkeypatch.setattr("sys.argv", ["task_pages.py", "--check"])
    assert task_pages.main() == 0
    stale = page.read_text().replace("| ceiling | ", "| ceiling | about ")
    page.write_text(stale)
    assert task_pages.main() == 1
    assert capsys.readouterr().out == f"{TASK}.md: differs from task.toml; run: make pages\n"
    assert page.read_text() == stale
