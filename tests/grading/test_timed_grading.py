"""Timed grading, with real servers in real sandboxes, and everything a submission might try."""

import asyncio
import re
import shutil
import sys
import textwrap
from pathlib import Path

import psutil
import pytest
from timed_trial import FOLDER, SLOW, SOLUTION, STARTER, Trial, small_trial

from mlagentbench.errors import RunFailed
from mlagentbench.grading import timed_grading as timing
from mlagentbench.grading.timed_grading import Server
from mlagentbench.records import Json
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.task import Task, load_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return small_trial(tmp_path, monkeypatch)


def with_collect(task: Task, **changed: Json) -> Task:
    assert task.spec.collect is not None
    collect = task.spec.collect.model_copy(update=changed)
    return Task(task.folder, task.spec.model_copy(update={"collect": collect}))


def code(text: str) -> str:
    return textwrap.dedent(text)


def test_the_solution_is_faster_than_the_starter(trial: Trial) -> None:
    result = trial.grade(SOLUTION)
    assert result["score"] < 0.5
    assert result["extra"]["pairs"] == 9
    low, high = result["extra"]["ratio_quartiles"]
    assert low <= result["score"] <= high
    names = sorted(file.name for file in (trial.outputs / "requests").iterdir())
    assert len([name for name in names if name.startswith("check-")]) == 20
    for role in ("submission", "starter"):
        assert sorted(file.name for file in (trial.outputs / role).iterdir()) == names


def test_nobody_but_the_server_that_is_asked_runs(trial: Trial, tmp_path: Path) -> None:
    source = SLOW + code("""
        import os
        if os.fork() == 0:
            while True:
                pass
        forward = slow
    """)

    async def cpu_while_others_are_timed() -> tuple[float, float]:
        workspace = tmp_path / "workspace"
        shutil.copytree(trial.task.starter, workspace)
        (workspace / "convolution.py").write_text(source)
        await call_task(
            trial.task, trial.env, "requests.make",
            read={"private": trial.data.private}, write={"directory": trial.outputs}, seed=1,
        )  # fmt: skip
        request = (trial.outputs / "timed-00.bin").read_bytes()
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        arguments = (trial.task, trial.env, workspace, trial.data.public, None)
        async with Server("submission", *arguments) as server:
            await server.answer("timed-00.bin", request)
            inside = [
                child
                for child in psutil.Process().children(recursive=True)
                if child.pid not in before
            ]
            first = cpu_seconds(inside)
            await asyncio.sleep(0.5)
            return first, cpu_seconds(inside)

    first, second = asyncio.run(cpu_while_others_are_timed())
    assert first > 0
    assert second - first <= 0.02


def cpu_seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


PUBLIC_DATA = SLOW + code("""
    import json, pathlib
    here = pathlib.Path(__file__).parent
    assert json.loads((here / "layer.json").read_text())["filters"] == 8
    assert json.loads((here / "tables" / "kept.json").read_text()) == [1.5]
    for name in ("layer.json", "tables/kept.json", "tables/new.json"):
        try:
            (here / name).write_text("{}")
        except OSError:
            continue
        raise SystemExit(f"{name} can be written")
    assert not list(here.glob("**/requests*"))
    forward = slow
""")


def test_public_data_are_there_for_all_and_read_only(trial: Trial, tmp_path: Path) -> None:
    folder = tmp_path / "vectorization"
    shutil.copytree(FOLDER, folder)
    (folder / "starter" / "convolution.py").write_text(PUBLIC_DATA)
    trial.task = load_folder(folder)
    assert trial.grade(PUBLIC_DATA)["score"] > 0.4
    assert (trial.data.public / "tables" / "kept.json").read_text() == "[1.5]"


BRINGS_NOTHING = {
    "a cache keyed by the input": """
        import hashlib
        seen = {}
        def forward(*arguments):
            key = hashlib.sha256(repr([np.asarray(a).tobytes() for a in arguments]).encode())
            if key.digest() not in seen:
                seen[key.digest()] = slow(*arguments)
            return seen[key.digest()]
    """,
    "outputs of the public examples, computed before": """
        import json, pathlib
        layer = json.loads(pathlib.Path("layer.json").read_text())
        shape = [layer[name] for name in ("batch", "height", "width", "channels")]
        rng = np.random.default_rng(0)
        filters = rng.normal(size=(3, 3, layer["channels"], layer["filters"]))
        table = {}
        for value in range(20):
            inputs = np.full(shape, value / 255.0)
            table[inputs.tobytes()] = slow(inputs, filters, filters[0, 0, 0], 2, 2)
        def forward(inputs, *rest):
            known = table.get(inputs.tobytes())
            return slow(inputs, *rest) if known is None else known
    """,
    "clocks that stand still": """
        import time
        for name in ("time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns"):
            setattr(time, name, lambda: 0)
        forward = slow
    """,
    "being slow while it warms up": """
        import time
        calls = []
        def forward(*arguments):
            calls.append(1)
            if len(calls) <= 2:
                time.sleep(0.5)
            return slow(*arguments)
    """,
    "prints": """
        import os, sys
        def forward(*arguments):
            print("0" * 100_000)
            sys.__stdout__.write("1" * 100)
            os.write(1, b"2" * 100)
            return slow(*arguments)
    """,
    "burning the processor while the starter is timed": """
        import os, threading
        def burn():
            while True:
                pass
        if os.fork() == 0:
            os.setsid()
            burn()
        forward = slow
    """,
}


@pytest.mark.parametrize("cheat", BRINGS_NOTHING)
def test_brings_nothing(trial: Trial, cheat: str) -> None:
    assert trial.grade(SLOW + code(BRINGS_NOTHING[cheat]))["score"] > 0.4


RESISTS_BEING_STOPPED = {
    "forking away": """
        import os
        for _ in range(3):
            if os.fork() == 0:
                while os.fork() == 0:
                    pass
                os._exit(0)
        forward = slow
    """,
    "a timer that lets it go on": """
        import ctypes, os, signal, struct
        if os.fork() == 0:
            signal.signal(signal.SIGCONT, lambda *_: None)
            event, timer = struct.pack("qii48x", 0, signal.SIGCONT, 0), ctypes.c_void_p()
            libc = ctypes.CDLL(None)
            libc.timer_create(1, event, ctypes.byref(timer))
            while True:
                libc.timer_settime(timer, 0, struct.pack("qqqq", 0, 0, 0, 3_000_000), None)
        forward = slow
    """,
}


@pytest.mark.parametrize("cheat", RESISTS_BEING_STOPPED)
def test_who_resists_being_stopped_gains_nothing_or_is_found_out(trial: Trial, cheat: str) -> None:
    try:
        assert trial.grade(SLOW + code(RESISTS_BEING_STOPPED[cheat]))["score"] > 0.4
    except InvalidSubmissionReported as invalid:
        assert re.search("ran while others were timed|limit on processes", str(invalid))


WRONG = {
    "outputs made up from the shapes": (
        """
        def forward(inputs, filters, bias, stride, padding):
            return np.zeros_like(slow(inputs, filters, bias, stride, padding))
        """,
        "wrong outputs",
    ),
    "outputs kept from the first request of that shape": (
        """
        kept = {}
        def forward(inputs, filters, bias, stride, padding):
            key = (inputs.shape, filters.shape, stride, padding)
            if key not in kept:
                kept[key] = slow(inputs, filters, bias, stride, padding)
            return kept[key]
        """,
        "wrong outputs",
    ),
    "right while it warms up": (
        """
        calls = []
        def forward(*arguments):
            calls.append(1)
            outputs = slow(*arguments)
            return outputs if len(calls) <= 2 else outputs * (1 + 1e-8)
        """,
        "wrong outputs",
    ),
    "wrong only when it takes itself to be timed": (
        """
        import json, pathlib
        layer = json.loads(pathlib.Path("layer.json").read_text())
        calls = []
        def forward(inputs, *rest):
            outputs = slow(inputs, *rest)
            calls.append(inputs.shape[1] == layer["height"])
            return outputs * 0 if len(calls) > 2 and calls[-1] else outputs
        """,
        "wrong outputs",
    ),
    "right only for the timed shape": (
        """
        def forward(inputs, *rest):
            outputs = slow(inputs, *rest)
            return outputs if inputs.shape[1:] == (32, 32, 3) else outputs + 1
        """,
        "wrong outputs",
    ),
    "float32": ("def forward(*a): return slow(*a).astype(np.float32)", "are float32"),
    "another shape": ("def forward(*a): return slow(*a)[..., None]", "have the shape"),
    "objects": ("def forward(*a): return slow(*a).astype(object)", "Object arrays cannot be saved"),
    "an exception": ("def forward(*a): raise ValueError('no idea')", "no idea"),
    "an end": (
        "import os\ndef forward(*a): os._exit(0)",
        "ended instead of replying to warm-up-00.bin",
    ),
    "no such function": ("forwards = slow", "cannot import name 'forward'"),
    "replies before the requests": (
        """
        import io, os
        reply = io.BytesIO()
        np.save(reply, np.zeros((1, 17, 17, 8)))
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, len(reply.getvalue()).to_bytes(8, "big") + reply.getvalue())
            except OSError:
                continue
        forward = slow
        """,
        "outputs for",
    ),
    "another serve.py": (
        """
        import pathlib
        pathlib.Path("serve.py").unlink()
        forward = slow
        """,
        "Read-only file system: 'serve.py'",
    ),
    "an endless stream": (
        """
        import os
        def forward(*arguments):
            while True:
                for descriptor in range(3, 10):
                    try:
                        os.write(descriptor, b"7" * 1000)
                    except OSError:
                        continue
        """,
        "bytes long; at most",
    ),
}


@pytest.mark.parametrize("cheat", WRONG)
def test_is_invalid(trial: Trial, cheat: str) -> None:
    source, reason = WRONG[cheat]
    assert reason in trial.reason(SLOW + code(source))


UNNAMED_CODE = {
    "another program": "import subprocess; subprocess.run(['true'], check=True)",
    "machine code": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "a library": """
import ctypes, pathlib, shutil
library = next(l.split()[-1] for l in open("/proc/self/maps") if "libc.so" in l)
ctypes.CDLL(shutil.copyfile(library, "/tmp/own.so"))
""",
}


@pytest.mark.parametrize("kind", UNNAMED_CODE)
def test_code_that_the_source_does_not_name_is_refused(trial: Trial, kind: str) -> None:
    """typing evaluates texts, so the check of the source cannot see what is reached."""
    source = STARTER + code(f"""
        import typing
        def hinted() -> "type('Hint', (), {{'found': staticmethod(lambda text: exec(text))}})": ...
        typing.get_type_hints(hinted)["return"].found({UNNAMED_CODE[kind]!r})
    """)
    trial.submit(source)
    read = {"submission": trial.submitted / "convolution.py", "public": trial.data.public}
    asyncio.run(call_task(trial.task, trial.env, "grade.check_format", read=read))
    assert re.search("not permitted|failed to map segment", trial.reason(source))


def test_compiled_code_is_no_submission(trial: Trial) -> None:
    library = Path(sys.executable).read_bytes()
    (trial.submitted / "weights.npy").write_bytes(b"\x93NUMPY" + library)
    assert "weights.npy contains compiled code (an ELF file)" in trial.reason(SOLUTION)


@pytest.mark.parametrize("answers", [0, 4])
def test_a_program_that_does_not_answer_is_invalid(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    monkeypatch.setattr(timing, "START_LIMIT", 2.0 if answers == 0 else 60.0)
    trial.task = with_collect(trial.task, timeout=1.0 if answers == 0 else 5.0)
    source = f"""
        import time
        calls = []
        def forward(*arguments):
            calls.append(1)
            if len(calls) > {answers}:
                time.sleep(1000)
            return slow(*arguments)
    """
    limit, name = ("3", "warm-up-00") if answers == 0 else ("5", "timed-02")
    assert f"no reply to {name}.bin within {limit} s" in trial.reason(SLOW + code(source))


def test_processes_left_behind_are_gone(trial: Trial) -> None:
    trial.task = with_collect(trial.task, machine_code="any")
    trial.grade(
        SOLUTION
        + code("""
        import subprocess
        subprocess.Popen(["sleep", "87654.5"], start_new_session=True)
        """)
    )
    left = [process for process in psutil.process_iter(["cmdline"])
            if "87654.5" in (process.info["cmdline"] or [])]  # fmt: skip
    assert left == []


def test_a_starter_that_fails_is_the_graders_fault(trial: Trial, tmp_path: Path) -> None:
    folder = tmp_path / "vectorization"
    shutil.copytree(FOLDER, folder)
    (folder / "starter" / "convolution.py").write_text("raise OSError('out of order')")
    trial.task = load_folder(folder)
    with pytest.raises(RunFailed, match="out of order") as failure:
        trial.grade(SOLUTION)
    assert failure.value.cause == "grader"


def test_too_few_timed_requests_are_the_tasks_fault(trial: Trial, tmp_path: Path) -> None:
    folder = tmp_path / "vectorization"
    shutil.copytree(FOLDER, folder)
    file = folder / "requests.py"
    file.write_text(file.read_text().replace('wanted["timed"]', "8"))
    trial.task = load_folder(folder)
    with pytest.raises(RunFailed, match="fewer than 9"):
        trial.grade(SOLUTION)
