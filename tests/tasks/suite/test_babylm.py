"""The task babylm: the official text, the invented language, the grader, who tries to cheat."""

import asyncio
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

import mlagentbench.mlagentbench_task as task_library
from mlagentbench.errors import UsageError
from mlagentbench.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.progress import Silent
from mlagentbench.tasks.python_env import ensure_python_env
from mlagentbench.tasks.sources import gather
from mlagentbench.tasks.task import load_folder

BABYLM = TaskModules("babylm")
MODEL_FILES = sys.modules["model_files"] = BABYLM.load("model_files")
SOURCES = BABYLM.prepare.SOURCES
PARTS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
MODELS = Path(__file__).with_name("babylm_models.py")


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
    with pytest.raises(UsageError, match="expected 253,170,132"):
        asyncio.run(
            gather(
                task, tmp_path / "raw", from_dir=source, accept_unverified=False, progress=Silent()
            )
        )


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
            for number, ending in enumerate(BABYLM.mini.ENDINGS[kind]):
                kinds[word + ending] = f"{kind} {number}"
    agreeing = Counter()
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


def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert contents(BABYLM.prepare_mini(tmp_path / "same")) == contents(mini)
    other = contents(BABYLM.prepare_mini(tmp_path / "other", seed=6))
    assert other["private/documents.json"] != contents(mini)["private/documents.json"]


# What can be seen without loading a model.


def safetensors(tensors: dict[str, Any], data: bytes) -> bytes:
    header = json.dumps(tensors).encode()
    return struct.pack("<Q", len(header)) + header + data


ONE = {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
GOOD = safetensors(ONE, bytes(24))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    directory = tmp_path / "output"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    (directory / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE"}}))
    (directory / "model.safetensors").write_bytes(GOOD)
    return directory


def refuses(directory: Path, reason: str) -> None:
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        BABYLM.grade.load(directory)


def test_plain_files_pass(output: Path) -> None:
    (output / "README.md").write_text("mine")
    assert MODEL_FILES.read_model_files(output).shapes == {"w": (2, 3)}


def test_files_that_could_hold_code_are_refused(output: Path) -> None:
    for name in ("pytorch_model.bin", "model.py", "training_args.bin", "chat_template.jinja"):
        (output / name).write_bytes(b"cos\nsystem\n(S'true'\ntR.")
        refuses(output, f"output/{name} has no place in a submission")
        (output / name).unlink()


def test_an_index_cannot_lead_elsewhere(output: Path) -> None:
    index = {"weight_map": {"w": "../../private/documents.json"}}
    (output / "model.safetensors.index.json").write_text(json.dumps(index))
    refuses(output, "output/model.safetensors.index.json has no place")


def test_links_folders_and_missing_files_are_refused(output: Path, tmp_path: Path) -> None:
    (output / "vocab.json").symlink_to("/etc/passwd")
    refuses(output, "vocab.json is not a regular file")
    (output / "vocab.json").unlink()
    (output / "merges.txt").mkdir()
    refuses(output, "merges.txt is not a regular file")
    (output / "merges.txt").rmdir()
    (output / "tokenizer.json").rename(tmp_path / "tokenizer.json")
    refuses(output, "output/tokenizer.json not found")
    refuses(tmp_path / "nothing", "nothing/ not found")
    refuses(tmp_path / "tokenizer.json", "is not a directory")
    (tmp_path / "link").symlink_to(output)
    refuses(tmp_path / "link", "is not a directory")


def test_oversized_files_are_refused_unread(output: Path) -> None:
    os.truncate(output / "model.safetensors", 700_000_000)
    refuses(output, "model.safetensors is larger than 600,000,000 bytes")
    (output / "model.safetensors").write_bytes(GOOD)
    os.truncate(output / "config.json", 60_000_000)
    refuses(output, "config.json is larger than 50,000,000 bytes")


WEIGHTS = {
    "nothing": (b"", "no header"),
    "a long header": (struct.pack("<Q", 2**60) + b"{}", "no header"),
    "no JSON": (struct.pack("<Q", 4) + b"{{{{", "is not a safetensors file"),
    "a list": (struct.pack("<Q", 2) + b"[]", "is not a safetensors file"),
    "cut off": (GOOD[:-1], "its header describes"),
    "too long": (GOOD + b"x", "its header describes"),
    "a huge shape": (
        safetensors({"w": ONE["w"] | {"shape": [2**40, 2**40]}}, bytes(24)),
        "does not fit its shape",
    ),
    "a negative shape": (
        safetensors({"w": ONE["w"] | {"shape": [-2, -3]}}, bytes(24)),
        "not a whole number",
    ),
    "overlapping": (safetensors({**ONE, "v": ONE["w"]}, bytes(24)), "does not fit its shape"),
    "integers": (
        safetensors({"w": ONE["w"] | {"dtype": "I32"}}, bytes(24)),
        "type I32 is not one of",
    ),
    "no offsets": (safetensors({"w": {"dtype": "F32", "shape": []}}, b""), "data_offsets"),
    "a pickle": (b"\x80\x04cos\nsystem\n" + bytes(40), "no header"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_damaged_weights_are_refused(output: Path, kind: str) -> None:
    data, reason = WEIGHTS[kind]
    (output / "model.safetensors").write_bytes(data)
    refuses(output, reason)


def test_too_many_parameters_are_refused_before_they_are_loaded(output: Path) -> None:
    size = 2 * 130_000_001
    huge = {"w": {"dtype": "F16", "shape": [130_000_001], "data_offsets": [0, size]}}
    file = output / "model.safetensors"
    file.write_bytes(safetensors(huge, b""))
    os.truncate(file, file.stat().st_size + size)
    refuses(output, "holds 130,000,001 numbers, more than 130,000,000")


JSON = {
    "no JSON": ("config.json", "{", "config.json is not valid JSON"),
    "deep": ("config.json", "[" * 100_000, "config.json is not valid JSON"),
    "not UTF-8": ("config.json", "\udcff", "config.json is not valid JSON"),
    "a list": ("tokenizer.json", "[]", "tokenizer.json does not hold a JSON object"),
    "no model": ("tokenizer.json", "{}", "tokenizer.json: no model in it"),
    "no kind": ("config.json", "{}", "model_type 'None' is not on the list"),
    "another class": (
        "config.json",
        '{"model_type": "gpt2", "architectures": ["GPT2ForTokenClassification"]}',
        "is not ['GPT2LMHeadModel']",
    ),
    "a tokenizer with code": (
        "tokenizer_config.json",
        '{"auto_map": {"AutoTokenizer": ["tokenizer.Mine", null]}}',
        "tokenizer_config.json: auto_map",
    ),
    "truncation": (
        "tokenizer.json",
        '{"model": {"type": "BPE"}, "truncation": {"max_length": 1}}',
        "tokenizer.json: truncation must be null",
    ),
}


@pytest.mark.parametrize("kind", JSON)
def test_bad_settings_are_refused(output: Path, kind: str) -> None:
    name, text, reason = JSON[kind]
    (output / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    refuses(output, reason)


def test_figures_beside_the_score() -> None:
    pairs = [({"text": "ab"}, 4.0), ({"text": "é"}, 2.0), ({"text": "abcd"}, 6.0)]
    assert BABYLM.grade.bits_per_byte(pairs) == pytest.approx(12 / 8)
    squares = (4 - 3) ** 2 + (2 - 3) ** 2 + (6 - 6) ** 2
    expected = math.sqrt(squares / (3 * 2)) / (8 / 3)
    assert BABYLM.grade.standard_error(pairs) == pytest.approx(expected)


# Models, honest and not; they need the task's own python env.


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the grader says to each model of babylm_models.py."""
    out = tmp_path_factory.mktemp("models")
    requirements = load_folder(BABYLM.folder).spec.python.requirements
    env = asyncio.run(ensure_python_env(requirements, announce=print))
    shutil.copy(str(task_library.__file__), out)
    path = os.pathsep.join(map(str, (BABYLM.folder, out)))
    done = subprocess.run(
        [env.python, MODELS, out],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results: dict[str, dict[str, Any]] = json.loads((out / "results.json").read_text())
    return results


INVALID = {
    "bert": "model_type 'bert' is not on the list of decoder-only models",
    "unknown tokens only": "decode(encode(text)) differs from the text in document 0",
    "lower case": "decode(encode(text)) differs",
    "spaces are lost": "decode(encode(text)) differs",
    "text is put before": "decode(encode(text)) differs",
    "random tokens": "dropout: a text must always give the same tokens",
    "an unknown kind of tokenizer": "tokenizer.json cannot be read",
    "a token too many": "has a token 257, the model knows 257",
    "an is_causal setting": "is_causal is not a setting of this model",
    "a cross attention": "the model is a decoder only",
    "code of its own": "auto_map: code of one's own is not loaded",
    "quantised": "quantization_config: weights are stored as plain numbers",
    "another attention": "_attn_implementation is not a setting",
    "no start token": "neither bos_token_id nor eos_token_id is a token",
    "a start token out of range": "neither bos_token_id nor eos_token_id is a token",
    "heads that do not fit": "give no model",
    "a width in letters": "give no model",
    "many layers": "num_hidden_layers is 1000000, expected 1 to 100",
    "a giant": "parameters, more than 130,000,000",
    "a giant's labels": "a language model has no labels",
    "endless positions": "n_positions is larger than",
    "no number": "ln_f.weight holds numbers that are not finite",
    "too large numbers": "predicts numbers that are not finite",
    "a missing weight": "ln_f.weight is not there",
    "a weight too many": "the model has no spare",
    "a wrong shape": "ln_f.weight is (17,), the model needs (16,)",
    "probe: future": "its predictions change with the tokens after them",
    "probe: length": "with a cache, when the tokens after it are not known yet",
    "too much work": "use a smaller model or longer tokens",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", INVALID)
def test_models_that_cheat_or_fail_are_invalid_with_a_reason(
    graded: dict[str, dict[str, Any]], kind: str
) -> None:
    assert INVALID[kind] in graded[kind]["invalid"]


@pytest.mark.slow
def test_all_listed_architectures_are_scored(graded: dict[str, dict[str, Any]]) -> None:
    for kind in MODEL_FILES.ARCHITECTURES:
        assert 7 < graded[kind]["score"] < 9, graded[kind]
    assert graded["probe: causal"] == {"accepted": True}


@pytest.mark.slow
def test_every_byte_is_counted_once(graded: dict[str, dict[str, Any]]) -> None:
    """A model that knows nothing needs log2(257) bits for each byte, in however many windows."""
    assert graded["uniform"]["score"] == pytest.approx(math.log2(257), rel=1e-6)
    assert graded["uniform"]["extra"]["tokens"] == graded["uniform"]["extra"]["n"] > 800
    assert graded["unchanged"]["score"] == pytest.approx(graded["by hand"]["score"], rel=1e-6)


@pytest.mark.slow
def test_grading_is_deterministic_and_ignores_what_has_no_meaning(
    graded: dict[str, dict[str, Any]],
) -> None:
    for same in ("again", "another number format", "a template with special tokens"):
        assert graded[same]["score"] == graded["unchanged"]["score"]


@pytest.mark.slow
def test_the_score_without_copies_is_reported(graded: dict[str, dict[str, Any]]) -> None:
    extra = graded["unchanged"]["extra"]
    assert (extra["groups"], extra["copies_of_training_text"]) == (3, 1)
    assert set(extra["by_source"]) == {"s0", "s1"}
    assert extra["score_without_copies"] != graded["unchanged"]["score"]
    assert extra["perplexity_per_word"] > 1000
