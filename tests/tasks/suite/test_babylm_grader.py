"""The grader of babylm: files that are refused, models that cheat, scores computed by hand."""

import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tabular_tasks import TaskModules

import mlagentbench.guest.mlagentbench_intervals as interval_library
import mlagentbench.guest.mlagentbench_task as task_library
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.python_env.env import PythonEnv

BABYLM = TaskModules("babylm")
MODEL_FILES = sys.modules["model_files"] = BABYLM.load("model_files")
MODELS = Path(__file__).with_name("babylm_models.py")


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
def graded(
    torch_env: PythonEnv, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """What the grader says to each model of babylm_models.py."""
    out = tmp_path_factory.mktemp("models")
    for library in (task_library, interval_library):
        shutil.copy(str(library.__file__), out)
    path = os.pathsep.join(map(str, (BABYLM.folder, BABYLM.folder / "starter", out)))
    done = subprocess.run(
        [torch_env.python, MODELS, out],
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
def test_the_starters_model_is_the_gpt2_of_transformers(graded: dict[str, dict[str, Any]]) -> None:
    assert graded["starter"]["apart"] < 1e-5
    assert graded["starter"]["score"] > 0


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
