"""The task llama-inference: its checkpoint, its official files, its requests and its grader."""

import asyncio
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import Prepared
from tiny_llama import (
    LLAMA,
    REQUESTS,
    SETTINGS,
    START,
    TIMED_TOKENS,
    greedy,
    read_model,
    tiny_data,
    tiny_maker,
    tiny_raw,
)

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import Grade, InvalidSubmission
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import Gathered, gather
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

STARTER = (LLAMA.folder / "starter" / "generate.py").read_text()
Replies = dict[str, list[list[int]]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return tiny_data(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def requests(data: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("requests")
    REQUESTS.make(directory, data.private, np.random.default_rng(5))
    return directory


@pytest.fixture(scope="module")
def right(data: Prepared, requests: Path) -> Replies:
    return answered(data, requests)


def answered(data: Prepared, requests: Path, change: Callable | None = None, **how) -> Replies:
    """What a model replies to all requests: the right one, or one with something changed."""
    model = read_model(data.public)
    if change is not None:
        change(model)
    asked = {file.name: json.loads(file.read_text()) for file in sorted(requests.iterdir())}
    return {name: greedy(model, **request, **how) for name, request in asked.items()}


def graded(
    data: Prepared, requests: Path, directory: Path, replies: Replies, source: str = STARTER, **raw
) -> Grade:
    """Grade replies, those named in `raw` replaced by bytes, with half of the starter's times."""
    outputs = directory / "outputs"
    shutil.copytree(requests, outputs / "requests")
    (outputs / "submission").mkdir()
    for name, tokens in replies.items():
        contents = raw.get(name.removesuffix(".bin").replace("-", "_"))
        whole = json.dumps({"tokens": tokens}).encode() if contents is None else contents
        (outputs / "submission" / name).write_bytes(whole)
    (outputs / "generate.py").write_text(source)
    times = {"submission": [0.5] * 9, "starter": [1.0] * 9, "control": [1.0] * 9, "sittings": 1}
    (outputs / "timings.json").write_text(json.dumps(times))
    return LLAMA.grade.grade(outputs, data.private, data.public)


def test_the_folder_is_valid_and_its_sources_are_pinned() -> None:
    spec = load_folder(LLAMA.folder).spec
    assert (spec.kind, spec.metric.scale) == ("timed", "log")
    assert set(spec.read_only.paths) == {"serve.py", "benchmark.py", "llama.py"}
    for source in spec.sources:
        assert len(source.ref.partition("@")[2]) == 40
        assert all(file.sha256 and file.bytes for file in source.files)


# The checkpoint


def test_the_same_seed_gives_the_same_bytes_and_fits_the_config(tmp_path: Path) -> None:
    first, second = tiny_raw(tmp_path / "1"), tiny_raw(tmp_path / "2")
    for file in (path for path in first.rglob("*") if path.is_file()):
        assert file.read_bytes() == (second / file.relative_to(first)).read_bytes()
    config = json.loads((first / "config.json").read_text())
    LLAMA.prepare.check_checkpoint(config, LLAMA.prepare.read_header(first / "model.safetensors"))
    other = tiny_raw(tmp_path / "3", seed=4)
    assert (other / "model.safetensors").read_bytes() != (first / "model.safetensors").read_bytes()


def test_weights_are_what_float16_can_hold_and_bfloat16_cannot() -> None:
    weights = tiny_maker().draw_weights(np.random.default_rng(0))["lm_head.weight"]
    steps = weights.astype(np.float64) * 2048
    assert (steps == np.round(steps)).all()
    assert len(np.unique(steps)) > 256
    shortened = (weights.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert (shortened != weights).mean() > 0.25


def test_generation_varies_and_ties_are_rare(data: Prepared, right: Replies) -> None:
    timed = [row for name, rows in right.items() if name.startswith("timed") for row in rows]
    assert len({tuple(row) for row in timed}) == len(timed)
    assert len({token for row in timed for token in row}) > 60
    model = read_model(data.public)
    ordered = np.sort(model.logits(np.array(timed), last=8), axis=2)
    assert (ordered[..., -1] - ordered[..., -2] < LLAMA.grade.NEAR_TIE).mean() < 0.01


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2', not 'llama'"),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, "rope_scaling is not supported"),
        ({"num_hidden_layers": 3}, r"lacks model\.layers\.2\."),
        ({"intermediate_size": 47}, r"mlp\.gate_proj\.weight has the shape \[48, 32\]"),
    ],
)
def test_another_kind_of_checkpoint_is_refused(change: dict, reason: str, tmp_path: Path) -> None:
    raw = tiny_raw(tmp_path / "raw")
    config = json.loads((raw / "config.json").read_text()) | change
    with pytest.raises(ValueError, match=reason):
        LLAMA.prepare.check_checkpoint(config, LLAMA.prepare.read_header(raw / "model.safetensors"))


def test_the_text_may_be_in_its_archive(tmp_path: Path) -> None:
    raw = tiny_raw(tmp_path / "raw")
    lines = LLAMA.prepare.read_text(raw, "test")
    with zipfile.ZipFile(raw / "wikitext-2-raw-v1.zip", "w") as archive:
        archive.write(raw / "wikitext-2-raw/wiki.test.raw", "wikitext-2-raw/wiki.test.raw")
    shutil.rmtree(raw / "wikitext-2-raw")
    assert LLAMA.prepare.read_text(raw, "test") == lines
    with pytest.raises(FileNotFoundError, match=r"lacks wikitext-2-raw/wiki\.valid\.raw"):
        LLAMA.prepare.read_text(raw, "valid")


# The official files


def official_files(directory: Path) -> Path:
    """A directory of somebody's: a clone of the checkpoint's repository, and the text's archive."""
    clone = directory / "TinyLlama-1.1B-Chat-v1.0"
    raw = tiny_raw(clone)
    with zipfile.ZipFile(directory / "wikitext-2-raw-v1.zip", "w") as archive:
        for part in ("valid", "test"):
            name = f"wikitext-2-raw/wiki.{part}.raw"
            archive.write(raw / name, name)
    shutil.rmtree(raw / "wikitext-2-raw")
    (raw / "requests.json").unlink()
    (raw / "README.md").write_text("about")
    return directory


def gathered(directory: Path, raw: Path, accept: bool = True) -> Gathered:
    task = load_folder(LLAMA.folder)
    raw.mkdir()
    return asyncio.run(
        gather(task, raw, from_dir=directory, accept_unverified=accept, progress=Silent())
    )


def test_the_text_may_be_unpacked(tmp_path: Path) -> None:
    own = official_files(tmp_path / "own")
    with zipfile.ZipFile(own / "wikitext-2-raw-v1.zip") as archive:
        archive.extractall(own)
    (own / "wikitext-2-raw-v1.zip").unlink()
    found = gathered(own, tmp_path / "raw")
    assert len(LLAMA.prepare.read_text(tmp_path / "raw", "test")) > 100
    assert "wikitext-2-raw/wiki.test.raw" in found.unverified


def test_another_checkpoint_is_taken_only_when_told_so(tmp_path: Path) -> None:
    own = official_files(tmp_path / "own")
    refused = gathered(own, tmp_path / "raw", accept=False).refused
    assert "config.json is not the file of" in refused[0]
    found = gathered(own, tmp_path / "accepted")
    assert {text.partition(":")[0] for text in found.accepted} == {
        "config.json", "model.safetensors", "tokenizer.json", "wikitext-2-raw-v1.zip",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["TinyLlama-1.1B-Chat-v1.0/model.safetensors", "wikitext-2-raw-v1.zip"]
)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    own = official_files(tmp_path / "own")
    (own / name).unlink()
    with pytest.raises(UsageError, match=f"llama-inference: {Path(name).name} not found in"):
        gathered(own, tmp_path / "raw")


@pytest.mark.slow
def test_official_files_are_prepared(torch_env: PythonEnv, tmp_path: Path) -> None:
    own = official_files(tmp_path / "own")
    data = asyncio.run(
        prepare(
            load_folder(LLAMA.folder), "full", call=call_task, python_env=torch_env,
            from_dir=own, accept_unverified=True,
        )
    )  # fmt: skip
    assert not data.verified
    files = [path for path in data.public.rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(data.public)) for path in files) == [
        "model/config.json", "model/model.safetensors", "model/tokenizer.json",
        "prompts.json", "serving.json",
    ]  # fmt: skip
    serving = json.loads((data.public / "serving.json").read_text())
    assert serving == {"batch": 4, "prompt_tokens": 32, "new_tokens": 32, "threads": 2}
    vocabulary = json.loads((own / "TinyLlama-1.1B-Chat-v1.0/tokenizer.json").read_text())
    ids = vocabulary["model"]["vocab"]
    with zipfile.ZipFile(own / "wikitext-2-raw-v1.zip") as archive:
        shown, hidden = (
            [ids[word] for word in archive.read(f"wikitext-2-raw/wiki.{part}.raw").decode().split()]
            for part in ("valid", "test")
        )
    assert np.load(data.private / "text.npy").tolist() == hidden
    for prompt in json.loads((data.public / "prompts.json").read_text()):
        assert (len(prompt), prompt[0]) == (32, START)
        assert prompt[1:] in [shown[n : n + 31] for n in range(0, len(shown) - 30, 31)]


# The requests


def prompts_of(directory: Path) -> list[tuple[int, ...]]:
    files = sorted(directory.glob("*.bin"))
    return [tuple(row) for file in files for row in json.loads(file.read_text())["prompts"]]


def test_no_prompt_comes_twice_nor_is_public(
    data: Prepared, requests: Path, tmp_path: Path
) -> None:
    REQUESTS.make(tmp_path, data.private, np.random.default_rng(1))
    first, second = prompts_of(requests), prompts_of(tmp_path)
    assert len({*first, *second}) == len(first) + len(second)
    shown = [tuple(row) for row in json.loads((data.public / "prompts.json").read_text())]
    assert not {*first, *second} & {*shown}
    assert {row[0] for row in first} == {START}
    everything = b"".join(path.read_bytes() for path in data.public.rglob("*") if path.is_file())
    text = np.load(data.private / "text.npy")
    assert text[:100].tobytes() not in everything
    assert json.dumps(text[:20].tolist())[1:-1].encode() not in everything


def test_timed_requests_have_one_size_and_checks_others(requests: Path) -> None:
    sizes = {}
    for file in requests.iterdir():
        asked = json.loads(file.read_text())
        (length,) = {len(row) for row in asked["prompts"]}
        sizes[file.name] = (len(asked["prompts"]), length, asked["new_tokens"])
    assert {size for name, size in sizes.items() if "check" not in name} == {(4, 12, 16)}
    checks = {size for name, size in sizes.items() if "check" in name}
    assert len(checks) == SETTINGS["checks"]
    assert (4, 12, 16) not in checks


# The grader


def test_logits_of_a_model_without_layers_are_those_worked_out_by_hand() -> None:
    config = {
        "num_hidden_layers": 0, "num_attention_heads": 1, "num_key_value_heads": 1,
        "hidden_size": 2, "rms_norm_eps": 0.0,
    }  # fmt: skip
    model = LLAMA.grade.Llama.__new__(LLAMA.grade.Llama)
    model.layers, model.epsilon = config["num_hidden_layers"], np.float32(0)
    model.weights = {
        "model.embed_tokens.weight": np.array([[1.0, 7.0], [3.0, 4.0]], dtype=np.float32),
        "model.norm.weight": np.array([1.0, 2.0], dtype=np.float32),
        "lm_head.weight": np.array([[1.0, 0.0], [1.0, 1.0]], dtype=np.float32),
    }
    # (1, 7) has the root mean square 5, (3, 4) that of 12.5.
    root = np.sqrt(12.5)
    expected = [[[0.2, 3.0], [3 / root, 11 / root]]]
    np.testing.assert_allclose(model.logits(np.array([[0, 1]]), last=2), expected, rtol=1e-6)


def test_right_replies_are_scored_by_time(
    data: Prepared, requests: Path, right: Replies, tmp_path: Path
) -> None:
    grade = graded(data, requests, tmp_path, right)
    assert grade.score == pytest.approx(0.5)
    assert grade.extra["agreement"] == {"timed": 1.0, "others": 1.0}


def with_wrong_ends(replies: Replies, count: int, kind: str = "timed") -> Replies:
    """The last token of some sequences changed: nothing follows that it could change."""
    wrong = {name: [list(row) for row in rows] for name, rows in replies.items()}
    rows = [row for name, rows in wrong.items() if name.startswith(kind) for row in rows]
    for row in rows[:count]:
        row[-1] = (row[-1] + 1) % 96
    return wrong


def test_one_token_in_a_hundred_may_differ(
    data: Prepared, requests: Path, right: Replies, tmp_path: Path
) -> None:
    few = with_wrong_ends(right, 5)
    agreement = graded(data, requests, tmp_path / "few", few).extra["agreement"]
    assert agreement["timed"] == pytest.approx(1 - 5 / TIMED_TOKENS)
    with pytest.raises(InvalidSubmission, match=r"98\.96 % of the tokens for the timed requests"):
        graded(data, requests, tmp_path / "many", with_wrong_ends(right, 6))
    with pytest.raises(InvalidSubmission, match="the other requests are what the model"):
        graded(data, requests, tmp_path / "others", with_wrong_ends(right, 3, "check"))


def made_up_sequence(rows: list[list[int]]) -> list[list[int]]:
    return [*rows[:-1], [3] * len(rows[-1])]


def made_up_rest(rows: list[list[int]]) -> list[list[int]]:
    """After its first few tokens every sequence differs once, and goes on with anything."""
    return [row[:12] + [3] * (len(row) - 12) for row in rows]


def shifted(rows: list[list[int]]) -> list[list[int]]:
    return [[START, *row[:-1]] for row in rows]


@pytest.mark.parametrize("cheat", [made_up_sequence, made_up_rest, shifted])
def test_a_difference_does_not_excuse_what_follows_it(
    data: Prepared, requests: Path, right: Replies, tmp_path: Path, cheat: Callable
) -> None:
    wrong = {name: cheat(rows) for name, rows in right.items()}
    with pytest.raises(InvalidSubmission, match=r"at least 99 % are needed; first difference"):
        graded(data, requests, tmp_path, wrong)


def keep_three_bits(model) -> None:
    for name, values in model.weights.items():
        step = np.abs(values).max() / 4
        model.weights[name] = np.round(values / step) * step


def leave_out_a_layer(model) -> None:
    model.layers -= 1


def forget_positions(model) -> None:
    model.rotate = lambda vectors: vectors


@pytest.mark.parametrize("change", [keep_three_bits, leave_out_a_layer, forget_positions])
def test_another_model_is_found_out(
    data: Prepared, requests: Path, tmp_path: Path, change: Callable
) -> None:
    replies = answered(data, requests, change)
    with pytest.raises(InvalidSubmission, match=r"at least 99 % are needed"):
        graded(data, requests, tmp_path, replies)


def test_of_two_equal_tokens_either_is_right(requests: Path, tmp_path: Path) -> None:
    data = tiny_data(tmp_path)
    file = data.public / "model" / "model.safetensors"
    weights = LLAMA.grade.read_safetensors(file)
    half = len(weights["lm_head.weight"]) // 2
    weights["lm_head.weight"][half:] = weights["lm_head.weight"][:half]
    tiny_maker().write_safetensors(
        file, {name: values.astype(np.float16) for name, values in weights.items()}
    )
    first = answered(data, requests)
    last = answered(data, requests, pick=lambda row: len(row) - 1 - np.argmax(row[::-1]))
    assert first != last
    for name, replies in (("first", first), ("last", last)):
        grade = graded(data, requests, tmp_path / name, replies)
        assert grade.extra["agreement"] == {"timed": 1.0, "others": 1.0}


BAD_REPLIES = {
    "fewer sequences": (lambda rows: rows[:-1], r"timed-04\.bin: 3 sequences, expected 4"),
    "more sequences": (lambda rows: rows + rows[:1], "5 sequences, expected 4"),
    "an early end": (lambda rows: [*rows[:2], rows[2][:9], rows[3]], "2: 9 tokens, expected 16"),
    "dropped tokens": (lambda rows: [row[::2] for row in rows], "0: 8 tokens, expected 16"),
    "a token too many": (lambda rows: [[*row, 3] for row in rows], "17 tokens, expected 16"),
    "an unknown token": (lambda rows: [[96, *row[1:]] for row in rows], "'96' is no token"),
    "a negative one": (lambda rows: [[-1, *row[1:]] for row in rows], "'-1' is no token"),
    "a fraction": (lambda rows: [[1.0, *row[1:]] for row in rows], "'1.0' is no token"),
    "a truth value": (lambda rows: [[True, *row[1:]] for row in rows], "'True' is no token"),
    "no lists": (lambda rows: [str(row) for row in rows], "no list of lists"),
    "nothing": (lambda rows: None, "no list of lists"),
}
BAD_BYTES = {
    "no JSON": (b"\xff" * 100, "is not JSON"),
    "nothing": (b"", "is not JSON"),
    "brackets without end": (b"[" * 100_000, "is not JSON"),
    "a number": (b"7", "no list of lists"),
    "a number of many digits": (b'{"tokens": [[1%s]]}' % (b"0" * 5000), "is not JSON"),
    "too much": (b" " * 1_000_001, "larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("kind", BAD_REPLIES)
def test_replies_of_another_form_are_invalid(
    data: Prepared, requests: Path, right: Replies, tmp_path: Path, kind: str
) -> None:
    change, reason = BAD_REPLIES[kind]
    with pytest.raises(InvalidSubmission, match=reason):
        graded(data, requests, tmp_path, right | {"timed-04.bin": change(right["timed-04.bin"])})


@pytest.mark.parametrize("kind", BAD_BYTES)
def test_replies_that_are_none_are_invalid(
    data: Prepared, requests: Path, right: Replies, tmp_path: Path, kind: str
) -> None:
    contents, reason = BAD_BYTES[kind]
    with pytest.raises(InvalidSubmission, match=reason):
        graded(data, requests, tmp_path, right, check_02=contents)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("def f(", "is not valid Python"), ("\0", "is not valid Python"),
     ("def load(): ...", r"defines no generate\(\)"), ("x = 1", r"defines no load\(\)")],
)  # fmt: skip
def test_what_is_no_program_is_invalid(source: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "generate.py").write_text(source)
    with pytest.raises(InvalidSubmission, match=reason):
        LLAMA.grade.check_format(tmp_path / "generate.py", tmp_path)


@pytest.mark.parametrize("name", ["starter", "solution"])
def test_starter_and_solution_have_the_right_form(name: str, tmp_path: Path) -> None:
    LLAMA.grade.check_format(LLAMA.folder / name / "generate.py", tmp_path)


def test_there_is_no_trivial_predictor(data: Prepared) -> None:
    assert LLAMA.trivial.predictors(data.public) == {}
