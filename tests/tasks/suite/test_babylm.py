"""The task babylm: the official text, the hidden passages, the invented language."""

import asyncio
import json
import math
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather
from mlagentbench.tasks.task import load_folder

BABYLM = TaskModules("babylm")
sys.modules["model_files"] = BABYLM.load("model_files")
SOURCES = BABYLM.prepare.SOURCES
PARTS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}


def official_files() -> dict[str, str]:
    """A little text under each of the official names."""
    files = {}
    for part, folder in PARTS.items():
        for source in SOURCES:
            lines = [f"{source} in {part}: line {n}, naïve “text”." for n in range(80)]
            files[f"{folder}/{source}.{part}"] = "\n".join(lines) + "\n"
    files["babylm_test/qed.test"] = files["babylm_10M/qed.train"]
    return files


def write_tree(directory: Path) -> Path:
    for name, text in official_files().items():
        file = directory / "babylm_data" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return directory


def write_archive(directory: Path, without: str = "") -> Path:
    directory.mkdir()
    with zipfile.ZipFile(directory / "babylm_data.zip", "w") as archive:
        for name, text in official_files().items():
            if name != without:
                archive.writestr(f"babylm_data/{name}", text)
        archive.writestr("babylm_data/babylm_100M/qed.train", "for the other track")
        archive.writestr("__MACOSX/babylm_data/babylm_10M/._qed.train", "not text")
    return directory


def taken(directory: Path, raw: Path) -> tuple[str, ...]:
    """What `prepare --from` brings into raw/; returns the names that it could not verify."""
    task = load_folder(BABYLM.folder)
    gathering = gather(task, raw, from_dir=directory, accept_unverified=True, progress=Silent())
    return asyncio.run(gathering).unverified


def contents(prepared: Prepared) -> dict[str, bytes]:
    root = prepared.public.parent
    files = [*prepared.public.rglob("*"), *prepared.private.rglob("*")]
    return {str(file.relative_to(root)): file.read_bytes() for file in files if file.is_file()}


def documents(prepared: Prepared) -> list[dict[str, Any]]:
    return json.loads((prepared.private / "documents.json").read_text())


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return BABYLM.prepare_mini(tmp_path_factory.mktemp("babylm"))


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    directory = tmp_path_factory.mktemp("official")
    taken(write_tree(directory / "from"), directory / "raw")
    return BABYLM.prepare_from(directory / "raw", directory)


def test_archive_and_tree_give_the_same(official: Prepared, tmp_path: Path) -> None:
    unverified = taken(write_archive(tmp_path / "from"), tmp_path / "raw")
    assert unverified == ("babylm_data.zip",)
    assert contents(BABYLM.prepare_from(tmp_path / "raw", tmp_path)) == contents(official)


def test_a_tree_that_lacks_a_file_is_refused_by_its_name(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "from")
    (tree / "babylm_data/babylm_dev/cbt.dev").unlink()
    with pytest.raises(UsageError, match=r"babylm_data/babylm_dev/cbt\.dev not found"):
        taken(tree, tmp_path / "raw")


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    with pytest.raises(UsageError, match=r"babylm_data\.zip not found .* babylm"):
        taken(tmp_path / "from", tmp_path / "raw")


def test_another_archive_is_refused(tmp_path: Path) -> None:
    task, source = load_folder(BABYLM.folder), write_archive(tmp_path / "from")
    gathering = gather(
        task, tmp_path / "raw", from_dir=source, accept_unverified=False, progress=Silent()
    )
    assert "expected 253,170,132" in asyncio.run(gathering).refused[0]


def test_an_archive_that_lacks_a_file_is_refused_by_its_name(tmp_path: Path) -> None:
    taken(write_archive(tmp_path / "from", without="babylm_test/cbt.test"), tmp_path / "raw")
    with pytest.raises(FileNotFoundError, match=r"lacks babylm_data/babylm_test/cbt\.test"):
        BABYLM.prepare_from(tmp_path / "raw", tmp_path)


def test_training_text_is_given_out_and_test_text_is_not(official: Prepared) -> None:
    files = official_files()
    found = contents(official)
    for name, text in files.items():
        if "test" not in name:
            assert found.pop(f"public/{name}").decode() == text
    assert sorted(found) == ["private/documents.json", "public/training.json"]
    assert json.loads(found["public/training.json"])["vocabulary"] == 16384


def test_passages_are_whole_lines_of_the_test_files(official: Prepared) -> None:
    files = official_files()
    seen: Counter[str] = Counter()
    for document in documents(official):
        seen[document["source"]] += 1
        assert document["text"] in files[f"babylm_test/{document['source']}.test"]
        assert document["text"].endswith("\n")
        assert 800 <= len(document["text"].encode()) < 900
        assert document["true_bits"] is None
    assert set(seen) == set(SOURCES)
    assert BABYLM.grade.ceiling(official.private) is None


def test_copies_of_training_text_are_marked(official: Prepared) -> None:
    for document in documents(official):
        assert document["copy"] == (document["source"] == "qed")


def test_a_passage_is_no_copy_for_half_of_its_lines() -> None:
    line, other = "a line of thirty characters ..", "another one of the same length"
    assert not BABYLM.prepare.is_copy(f"{line}\n{other}\n", {line})
    assert BABYLM.prepare.is_copy(f"{line}\n{line}\n{other}\n", {line})


def test_long_lines_are_cut_and_files_shared_out_by_size() -> None:
    passages = BABYLM.prepare.cut_passages("é" * 2000 + "\nshort\n" + "b" * 900 + "\nrest\n")
    assert [passage.text for passage in passages] == ["é" * 1200, "short\n" + "b" * 900 + "\n"]
    assert [(passage.first_line, passage.lines) for passage in passages] == [(0, 1), (1, 2)]
    many = {"large": passages * 400, "small": passages * 50, "tiny": passages[:1]}
    chosen = Counter(s for s, _ in BABYLM.prepare.chosen_places(many, np.random.default_rng(0)))
    assert chosen == {"large": 266, "small": 33, "tiny": 1}


@pytest.mark.slow
def test_the_language_has_two_thousand_words_that_follow_zipf(mini: Prepared) -> None:
    text = "".join(file.read_text() for file in sorted((mini.public / "babylm_10M").iterdir()))
    counts = Counter(re.findall("[a-z]+", text))
    assert 1950 <= len(counts) <= 2000
    ordered = [count for _, count in counts.most_common()]
    assert ordered[0] > 8 * ordered[50] > 40 * ordered[800]
    assert len(text) > 1_300_000
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz .\n")


def test_verbs_agree_with_their_subjects_over_a_distance(mini: Prepared) -> None:
    """Sentences of article, noun, preposition, article, noun, verb: the first noun counts."""
    language = BABYLM.mini.Language(np.random.default_rng(5))
    kinds = {word: kind for kind, words in language.words.items() for word in words}
    for kind in ("noun", "verb"):
        for word in language.words[kind]:
            for number, ending in enumerate(language.endings[kind]):
                kinds[word + ending] = f"{kind} {number}"
    agreeing: Counter[bool] = Counter()
    for file in sorted((mini.public / "babylm_10M").iterdir()):
        for line in file.read_text().splitlines():
            found = [kinds[word] for word in line.rstrip(".").split()]
            if found[0] == "adverb":
                found = found[1:]
            if len(found) > 5 and (found[2], found[5][:4]) == ("preposition", "verb"):
                agreeing[found[1][-1] == found[5][-1]] += 1
    assert agreeing[True] > 500
    assert agreeing[False] == 0


def test_the_ceiling_is_the_probability_of_the_text_under_all_topics(mini: Prepared) -> None:
    """Summed over all sequences of topics of a short passage, by brute force."""
    rows = np.load(mini.raw / "true_qed.npy")[7:10]
    topics = range(rows.shape[1])
    stay = 1 - BABYLM.mini.SWITCH
    move = BABYLM.mini.SWITCH / len(topics)
    total = 0.0
    for a in topics:
        for b in topics:
            for c in topics:
                change = (move + stay * (a == b)) * (move + stay * (b == c)) / len(topics)
                total += change * math.exp(rows[0][a] + rows[1][b] + rows[2][c])
    passage = BABYLM.prepare.Passage("", first_line=7, lines=3)
    found = BABYLM.prepare.true_bits(mini.raw, "qed", passage)
    assert found == pytest.approx(-math.log2(total), abs=1e-3)
    assert 0.8 < BABYLM.grade.ceiling(mini.private) < 0.9


def test_the_probabilities_of_all_ways_to_go_on_add_up(mini: Prepared) -> None:
    language = BABYLM.mini.Language(np.random.default_rng(1))
    for kind, cumulative in language.cumulative.items():
        assert np.allclose([row[-1] for row in cumulative], 1), kind
        assert np.allclose(np.exp(language.logs[kind]).sum(axis=0), 1), kind


def test_mini_documents_are_hidden_and_no_copies(mini: Prepared) -> None:
    public = "".join(file.read_text() for file in mini.public.rglob("*.*") if file.is_file())
    found = documents(mini)
    assert len(found) > 100
    assert not any(document["copy"] for document in found)
    assert not any(document["text"] in public for document in found)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert contents(BABYLM.prepare_mini(tmp_path / "same")) == contents(mini)
    other = contents(BABYLM.prepare_mini(tmp_path / "other", seed=6))
    assert other["private/documents.json"] != contents(mini)["private/documents.json"]
