"""The programs of llama-inference, and what a submission might try, in real timed gradings."""

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tiny_llama import LLAMA, REQUESTS, read_model, tiny_data

from mlagentbench.grading.grade import Scored, score_submission
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_folder

pytestmark = pytest.mark.slow

# Servers of a tiny model in numpy: importing torch three times a grading would take most of it.
NO_TORCH = "def set_num_threads(number): ...\n"
PLAIN = """
import json
import numpy as np
from model_in_numpy import Llama

def load(directory):
    config = json.loads((directory / "config.json").read_text())
    return Llama(config, directory / "model.safetensors")

def plain(model, prompts, new_tokens):
    tokens = np.array(prompts)
    for _ in range(new_tokens):
        tokens = np.concatenate([tokens, model.logits(tokens, last=1).argmax(2)], axis=1)
    return tokens[:, len(prompts[0]):].tolist()

generate = plain
"""


class Trial:
    """The task with a starter in numpy and a tiny model, and a way to have submissions scored."""

    def __init__(self, directory: Path) -> None:
        self.env = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
        folder = directory / "llama-inference"
        shutil.copytree(LLAMA.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
        starter, toml = folder / "starter", folder / "task.toml"
        (starter / "torch.py").write_text(NO_TORCH)
        (starter / "model_in_numpy.py").write_text((folder / "grade.py").read_text())
        helpers = sys.modules["mlagentbench_task"].__file__
        shutil.copy(str(helpers), starter / "mlagentbench_task.py")
        (starter / "generate.py").write_text(PLAIN)
        ours = '"llama.py", "torch.py", "model_in_numpy.py", "mlagentbench_task.py"'
        toml.write_text(toml.read_text().replace('"llama.py"', ours))
        self.task = load_folder(folder)
        tiny_data(directory / "data")
        self.data = PreparedData(
            directory=directory / "data", tier="mini", hash="-", recipe="-", verified=True,
            files=0, bytes=0, created="-", draw="public",
        )  # fmt: skip
        self.submitted = directory / "submitted"
        self.submitted.mkdir()

    def score(self, cheat: str) -> Scored:
        (self.submitted / "generate.py").write_text(PLAIN + textwrap.dedent(cheat))
        return asyncio.run(score_submission(self.task, self.data, self.env, self.submitted))


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


BRINGS_NOTHING = {
    "replies kept from earlier requests": """
        kept = {}
        def generate(model, prompts, new_tokens):
            key = (repr(prompts), new_tokens)
            if key not in kept:
                kept[key] = plain(model, prompts, new_tokens)
            return kept[key]
    """,
    "replies computed before, for all public prompts": """
        import pathlib
        table = {}
        def load(directory, plain_load=load):
            model = plain_load(directory)
            prompts = json.loads(pathlib.Path("prompts.json").read_text())
            table.update(zip(map(tuple, prompts), plain(model, prompts, 16), strict=True))
            return model
        def generate(model, prompts, new_tokens):
            known = [table.get(tuple(prompt)) for prompt in prompts]
            if None not in known:
                return [row[:new_tokens] for row in known]
            return plain(model, prompts, new_tokens)
    """,
    "clocks that stand still": """
        import time
        for name in ("time", "perf_counter", "monotonic", "process_time", "perf_counter_ns"):
            setattr(time, name, lambda: 0)
    """,
}


@pytest.mark.parametrize("cheat", BRINGS_NOTHING)
def test_brings_nothing(trial: Trial, cheat: str) -> None:
    scored = trial.score(BRINGS_NOTHING[cheat])
    assert scored.reason is None
    assert scored.score is not None
    assert scored.score > 0.6


WRONG = {
    "right while it warms up": (
        """
        calls = []
        def generate(model, prompts, new_tokens):
            calls.append(1)
            if len(calls) <= 1:
                return plain(model, prompts, new_tokens)
            return [[3] * new_tokens for _ in prompts]
        """,
        "% of the tokens for the timed requests",
    ),
    "right only at the size that is timed": (
        """
        def generate(model, prompts, new_tokens):
            if (len(prompts), len(prompts[0]), new_tokens) == (4, 12, 16):
                return plain(model, prompts, new_tokens)
            return [[3] * new_tokens for _ in prompts]
        """,
        "% of the tokens for the other requests",
    ),
    "anything at once, and the right reply after it": (
        """
        import os
        def generate(model, prompts, new_tokens):
            early = json.dumps({"tokens": [[3] * new_tokens for _ in prompts]}).encode()
            for descriptor in range(3, 10):
                try:
                    os.write(descriptor, len(early).to_bytes(8, "big") + early)
                except OSError:
                    continue
            return plain(model, prompts, new_tokens)
        """,
        "% of the tokens for the timed requests|expected",
    ),
    "replies kept by the size of the request": (
        """
        kept = {}
        def generate(model, prompts, new_tokens):
            key = (len(prompts), new_tokens)
            if key not in kept:
                kept[key] = plain(model, prompts, new_tokens)
            return kept[key]
        """,
        "% of the tokens for the timed requests",
    ),
}


@pytest.mark.parametrize("cheat", WRONG)
def test_is_invalid(trial: Trial, cheat: str) -> None:
    source, reason = WRONG[cheat]
    scored = trial.score(source)
    assert scored.score is None
    assert re.search(reason, scored.reason or "")


COMPARE = """
import importlib.util, json, sys
from pathlib import Path
import torch
from llama import Llama
from transformers import LlamaForCausalLM

torch.set_num_threads(1)
model, prompts = Path("model"), json.loads(Path("prompts.json").read_text())[:4]
tokens = {}
for name in ("generate", "solution"):
    spec = importlib.util.spec_from_file_location(name, f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tokens[name] = module.generate(module.load(model), prompts, 32)
official = LlamaForCausalLM.from_pretrained(model, dtype=torch.float32)
both = torch.tensor([prompt + row for prompt, row in zip(prompts, tokens["generate"])])
with torch.inference_mode():
    difference = (official(both).logits - Llama(model).logits(both)).abs().max().item()
    low = official.to(torch.bfloat16)
    tokens["bfloat16"] = low.generate(
        torch.tensor(prompts), max_new_tokens=32, min_new_tokens=32, do_sample=False
    )[:, len(prompts[0]):].tolist()
print(json.dumps({"prompts": prompts, "tokens": tokens, "difference": difference}))
"""


@pytest.fixture(scope="module")
def mini(torch_env: PythonEnv, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        task = load_folder(LLAMA.folder)
        return asyncio.run(prepare(task, "mini", call=call_task, python_env=torch_env))


def test_starter_solution_grader_and_transformers_agree(
    mini: PreparedData, torch_env: PythonEnv, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    for source in (mini.public, LLAMA.folder / "starter"):
        shutil.copytree(source, workspace, dirs_exist_ok=True)
    shutil.copy(LLAMA.folder / "solution" / "generate.py", workspace / "solution.py")
    said = run(torch_env, workspace, "-c", COMPARE)
    found = json.loads(said.splitlines()[-1])
    assert found["difference"] < 1e-4
    assert found["tokens"]["generate"] == found["tokens"]["solution"]
    model, prompts = read_model(mini.public), np.array(found["prompts"])
    shares = {
        name: LLAMA.grade.right_tokens(
            model, LLAMA.grade.Exchange(name, prompts, np.array(tokens))
        ).mean()
        for name, tokens in found["tokens"].items()
    }
    assert shares["generate"] == shares["solution"] == 1
    assert shares["bfloat16"] < LLAMA.grade.LEAST_AGREEMENT


def test_the_benchmark_prints_one_figure_and_the_server_answers_in_frames(
    mini: PreparedData, torch_env: PythonEnv, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    for source in (mini.public, LLAMA.folder / "starter", LLAMA.folder / "solution"):
        shutil.copytree(source, workspace, dirs_exist_ok=True)
    assert run(torch_env, workspace, "benchmark.py") == b"validation agreement=1.0000\n"
    chatty = (workspace / "generate.py").read_text() + "\nprint('x' * 10_000, flush=True)\n"
    (workspace / "generate.py").write_text(chatty)
    REQUESTS.make(tmp_path, mini.private, np.random.default_rng(1))
    files = sorted(tmp_path.glob("check-*.bin"))
    frames = [file.read_bytes() for file in files]
    sent = b"".join(len(frame).to_bytes(8, "big") + frame for frame in frames)
    received = io.BytesIO(run(torch_env, workspace, "serve.py", sent=sent))
    model = read_model(mini.public)
    for file in files:
        size = int.from_bytes(received.read(8), "big")
        (tmp_path / "reply").write_bytes(received.read(size))
        exchange = LLAMA.grade.read_exchange(file, tmp_path / "reply", 1024)
        assert LLAMA.grade.right_tokens(model, exchange).all()
    assert received.read() == b""


def run(env: PythonEnv, workspace: Path, *arguments: str, sent: bytes = b"") -> bytes:
    settings = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(
        [env.python, *arguments], cwd=workspace, env={**os.environ, **settings}, input=sent,
        capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
