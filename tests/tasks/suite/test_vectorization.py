"""The task vectorization: its layers, its server, its requests and its grader."""

import io
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.task import load_folder

VECTOR = TaskModules("vectorization")
REQUESTS = VECTOR.load("requests")
FULL = VECTOR.load("full")
SOURCES = {name: VECTOR.folder / name / "convolution.py" for name in ("starter", "solution")}


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return VECTOR.prepare_mini(tmp_path_factory.mktemp("vectorization"))


@pytest.fixture(scope="module")
def requests(mini: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("requests")
    REQUESTS.make(directory, mini.private, np.random.default_rng(3))
    return directory


def layer_of(source: Path):
    namespace: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), namespace)
    return namespace["forward"]


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def right_reply(request: Path) -> np.ndarray:
    images, filters, bias, (stride, padding) = VECTOR.grade.read_request(request)
    return VECTOR.grade.convolve(images / 255.0, filters, bias, int(stride), int(padding))


def workspace_in(directory: Path, prepared: Prepared, source: str) -> Path:
    workspace = directory / "workspace"
    shutil.copytree(VECTOR.folder / "starter", workspace)
    shutil.copytree(prepared.public, workspace, dirs_exist_ok=True)
    (workspace / "convolution.py").write_text(source)
    return workspace


def test_the_folder_is_valid_and_serve_is_read_only() -> None:
    spec = load_folder(VECTOR.folder).spec
    assert spec.kind == "timed"
    assert "serve.py" in spec.read_only.paths
    assert spec.metric.scale == "log"


def test_full_is_the_papers_layer_and_mini_the_same_with_a_smaller_batch(tmp_path: Path) -> None:
    layers = []
    for module in (VECTOR.mini, FULL):
        module.make(tmp_path, np.random.default_rng(0))
        layers.append(json.loads((tmp_path / "layer.json").read_text()))
    assert layers[1] == {
        "batch": 32, "height": 64, "width": 64, "channels": 3,
        "rows": 3, "columns": 3, "filters": 8, "stride": 2, "padding": 2,
    }  # fmt: skip
    assert layers[0] == {**layers[1], "batch": 2}


def test_preparing_twice_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert VECTOR.prepare_mini(tmp_path).files() == mini.files()
    assert sorted(file.name for file in mini.public.iterdir()) == ["examples.json", "layer.json"]


@pytest.mark.parametrize("name", SOURCES)
def test_the_layers_agree_with_the_grader(name: str, requests: Path) -> None:
    forward = layer_of(SOURCES[name])
    for request in sorted(requests.glob("check-*.bin")):
        images, filters, bias, (stride, padding) = VECTOR.grade.read_request(request)
        arguments = (images / 255.0, filters, bias, int(stride), int(padding))
        expected = VECTOR.prepare.convolve(*arguments)
        np.testing.assert_allclose(right_reply(request), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(forward(*arguments), expected, rtol=1e-9, atol=1e-12)
        assert forward(*arguments).dtype == np.float64


def test_requests_are_never_the_same_twice(requests: Path, mini: Prepared, tmp_path: Path) -> None:
    REQUESTS.make(tmp_path, mini.private, np.random.default_rng())
    first = [file.read_bytes() for file in requests.iterdir()]
    second = [file.read_bytes() for file in tmp_path.iterdir()]
    assert len({*first, *second}) == len(first) + len(second)
    layer = json.loads((mini.public / "layer.json").read_text())
    for file in requests.glob("timed-*.bin"):
        images, filters, _, settings = VECTOR.grade.read_request(file)
        assert images.shape == (layer["batch"], 64, 64, 3)
        assert (filters.shape, list(settings)) == ((3, 3, 3, 8), [2, 2])


def test_checks_cover_shapes_strides_and_paddings(requests: Path) -> None:
    checks = [VECTOR.grade.read_request(file) for file in requests.glob("check-*.bin")]
    assert len(checks) == 20
    assert len({(images.shape, filters.shape) for images, filters, _, _ in checks}) == 20
    assert {int(settings[0]) for *_, settings in checks} == {1, 2, 3, 4}
    assert len({int(settings[1]) for *_, settings in checks}) >= 4


@pytest.mark.parametrize("name", SOURCES)
def test_the_benchmark_prints_one_figure_and_no_times(
    name: str, mini: Prepared, tmp_path: Path
) -> None:
    workspace = workspace_in(tmp_path, mini, SOURCES[name].read_text())
    command = [sys.executable, "benchmark.py"]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    label, _, value = done.stdout.strip().partition("validation max_error=")
    assert label == ""
    assert float(value) < 1e-12


def test_the_server_keeps_prints_out_of_its_replies(
    mini: Prepared, requests: Path, tmp_path: Path
) -> None:
    chatty = SOURCES["solution"].read_text().replace(
        "    batch, height", "    print('x' * 10_000, flush=True)\n    batch, height", 1
    )  # fmt: skip
    workspace = workspace_in(tmp_path, mini, chatty)
    files = sorted(requests.glob("check-*.bin"))
    frames = [file.read_bytes() for file in files]
    sent = b"".join(len(frame).to_bytes(8, "big") + frame for frame in frames)
    done = subprocess.run(
        [sys.executable, "serve.py"], cwd=workspace, input=sent, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(b"xxx")
    received = io.BytesIO(done.stdout)
    for file in files:
        reply = np.load(io.BytesIO(received.read(int.from_bytes(received.read(8), "big"))))
        np.testing.assert_allclose(reply, right_reply(file), rtol=1e-9, atol=1e-12)
    assert received.read() == b""


def graded(
    requests: Path, directory: Path, source: str = SOURCES["starter"].read_text(), **wrong: Any
) -> Any:
    """Grade right replies, those named in `wrong` replaced, with times of half the starter's."""
    outputs = directory / "outputs"
    shutil.copytree(requests, outputs / "requests")
    (outputs / "submission").mkdir()
    for request in requests.iterdir():
        name = request.name.removesuffix(".bin").replace("-", "_")
        contents = wrong.get(name, npy(right_reply(request)))
        (outputs / "submission" / request.name).write_bytes(contents)
    (outputs / "convolution.py").write_text(source)
    times = {"submission": [0.5] * 9, "starter": [1.0] * 9, "control": [1.0] * 9, "sittings": 1}
    (outputs / "timings.json").write_text(json.dumps(times))
    return VECTOR.grade.grade(outputs, directory, directory)


def test_right_replies_are_scored_by_time(requests: Path, tmp_path: Path) -> None:
    grade = graded(requests, tmp_path)
    assert grade.score == pytest.approx(0.5)
    assert "warning" not in grade.extra


@pytest.mark.parametrize("name", ["warm_up_00", "timed_08", "check_19"])
def test_one_value_off_in_any_reply_is_invalid(requests: Path, tmp_path: Path, name: str) -> None:
    reply = right_reply(requests / (name.replace("_", "-") + ".bin"))
    reply.flat[np.argmax(reply)] *= 1 + 2e-9
    with pytest.raises(InvalidSubmission, match=r"wrong outputs for images .*: 1 of"):
        wrong: dict[str, Any] = {name: npy(reply)}
        graded(requests, tmp_path, **wrong)


def test_an_array_in_columns_order_is_as_good(requests: Path, tmp_path: Path) -> None:
    reply = np.asfortranarray(right_reply(requests / "timed-00.bin"))
    assert graded(requests, tmp_path, timed_00=npy(reply)).score == pytest.approx(0.5)


def bad_replies(right: np.ndarray) -> dict[str, tuple[bytes, str]]:
    shape = str(right.shape).encode()
    huge = npy(right).replace(shape, b"(8888888, 333)")
    unclosed = npy(right).replace(shape, b"((((((((((((((")
    nan = right.copy()
    nan.flat[7] = np.nan
    return {
        "float32": (npy(right.astype(np.float32)), "are float32, expected float64"),
        "big-endian": (npy(right.astype(">f8")), "expected float64"),
        "a shape": (npy(right[None]), "have the shape"),
        "a shape that would not fit into memory": (huge, "have the shape"),
        "a header that is no literal": (unclosed, "is not a .npy array"),
        "not a number": (npy(nan), "wrong outputs"),
        "cut short": (npy(right)[:-1], "cut short or too long"),
        "too long": (npy(right) + b"0", "cut short or too long"),
        "empty": (b"", "is not a .npy array"),
        "garbage": (b"garbage" * 1000, "is not a .npy array"),
        "a pickle": (pickle.dumps(right), "is not a .npy array"),
        "an array of pickles": (npy(right.astype(object)), "are object"),
    }


@pytest.mark.parametrize("kind", bad_replies(np.zeros((2, 33, 33, 8))))
def test_other_replies_are_invalid(requests: Path, tmp_path: Path, kind: str) -> None:
    reply, reason = bad_replies(right_reply(requests / "timed-03.bin"))[kind]
    with pytest.raises(InvalidSubmission, match=reason):
        graded(requests, tmp_path, timed_03=reply)


ALLOWED = [
    SOURCES["starter"].read_text(),
    SOURCES["solution"].read_text(),
    "import math, numpy\nfrom functools import lru_cache\nforward = lambda *a: numpy.ones(1)",
    "from numpy.lib.stride_tricks import sliding_window_view as forward\n"
    "if __name__ == '__main__':\n    print(1)",
]
REFUSED = {
    "import os\n": "line 1: os",
    "from scipy import signal\n": "scipy",
    "import numpy as np, torch\n": "torch",
    "from .serve import main\n": ".serve",
    "import numpy.ctypeslib\n": "numpy.ctypeslib",
    "from numpy import ctypeslib\n": "ctypeslib",
    "import numpy as np\nnp.f2py.compile('')\n": "line 2",
    "import numpy as np\nsys = np.testing.sys\n": "line 2",
    "__import__('os').fork()\n": "__import__",
    "eval('1')\n": "eval",
    "().__class__.__base__.__subclasses__()\n": "__subclasses__",
    "import operator\noperator.attrgetter('a')\n": "attrgetter",
}


@pytest.mark.parametrize("source", ALLOWED)
def test_numpy_is_allowed(source: str, tmp_path: Path) -> None:
    (tmp_path / "convolution.py").write_text(source)
    VECTOR.grade.check_format(tmp_path / "convolution.py", tmp_path)


@pytest.mark.parametrize("source", REFUSED)
def test_other_ways_are_refused(source: str, requests: Path, tmp_path: Path) -> None:
    source += "def forward(inputs, filters, bias, stride, padding): ...\n"
    (tmp_path / "convolution.py").write_text(source)
    with pytest.raises(InvalidSubmission, match="is not allowed; use numpy only") as reason:
        VECTOR.grade.check_format(tmp_path / "convolution.py", tmp_path)
    assert REFUSED[source[: source.index("def forward")]] in str(reason.value)
    with pytest.raises(InvalidSubmission, match="is not allowed"):
        graded(requests, tmp_path, source=source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("def f(", "is not valid Python"), ("\0", "is not valid Python"), ("x = 1", "no forward"),
     ("-" * 500_000 + "1", "is not valid Python|no forward")],
)  # fmt: skip
def test_what_is_no_layer_is_invalid(source: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "convolution.py").write_text(source)
    with pytest.raises(InvalidSubmission, match=reason):
        VECTOR.grade.check_format(tmp_path / "convolution.py", tmp_path)


def test_there_is_no_trivial_predictor(mini: Prepared) -> None:
    assert VECTOR.trivial.predictors(mini.public) == {}
