"""For each task of the suite a small private/, and a submission that its grader gives a score."""

import asyncio
import io
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from clrs_battery import RUNS as CLRS_RUNS
from prepared import Contents, table
from tabular_tasks import TaskModules
from tiny_llama import greedy, read_model, tiny_data

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_task

ROWS = 12
IDS = [f"{7 * row + 3}" for row in range(ROWS)]
HALVES = [row % 2 for row in range(ROWS)]
Files = dict[str, Contents]


@dataclass(frozen=True)
class GradedCase:
    """What a grader is given; `checked` is the submission that check_format() is called on."""

    task: str
    private: Files
    outputs: dict[str, bytes]
    public: Files = field(default_factory=dict)
    checked: str | None = None
    fixed: tuple[str, ...] = ()
    """Outputs that the harness writes, so they are as they should be."""


def csv_case(
    task: str, answers: str, outputs: str | None = None, **private: Contents
) -> GradedCase:
    files = {f"{name}.csv": contents for name, contents in private.items()}
    submitted = (outputs or answers).encode()
    return GradedCase(task, {"answers.csv": answers, **files}, {"submission.csv": submitted})


def house_price(_: Path, _env: PythonEnv) -> GradedCase:
    answers = table("Id,SalePrice", IDS, np.linspace(9e4, 3e5, ROWS))
    return csv_case("house-price", answers, copies=table("Id", IDS[:2]))


def feedback(_: Path, _env: PythonEnv) -> GradedCase:
    ratings = [[1.0 + (row + column) % 5 for row in range(ROWS)] for column in range(6)]
    header = "text_id,cohesion,syntax,vocabulary,phraseology,grammar,conventions"
    return csv_case("feedback", table(header, IDS, *ratings), copies=table("text_id", IDS[:2]))


def imdb(_: Path, _env: PythonEnv) -> GradedCase:
    return csv_case("imdb", table("id,sentiment", IDS, HALVES), copies=table("id", IDS[:2]))


def spaceship_titanic(_: Path, _env: PythonEnv) -> GradedCase:
    ids = [f"{row:04}_01" for row in range(ROWS)]
    answers = table("PassengerId,Transported", ids, map(bool, HALVES))
    return csv_case("spaceship-titanic", answers, copies=table("PassengerId", ids[:2]))


def parkinsons_disease(_: Path, _env: PythonEnv) -> GradedCase:
    answers = table("prediction_id,rating", IDS, range(ROWS))
    asked = table("prediction_id,patient_id", IDS, [row // 2 for row in range(ROWS)])
    return csv_case("parkinsons-disease", answers, asked=asked)


def ogbn_arxiv(_: Path, _env: PythonEnv) -> GradedCase:
    return csv_case("ogbn-arxiv", table("node,label", IDS, HALVES), copies=table("node", IDS[:2]))


def fathomnet(_: Path, _env: PythonEnv) -> GradedCase:
    facts = {
        "categories": [1, 2, 3], "labels": 20, "labels_never_seen_in_training": 1,
        "images_left_out": 0,
    }  # fmt: skip
    case = csv_case(
        "fathomnet",
        table("id,categories", IDS, ["1 3" if half else "2" for half in HALVES]),
        dives=table("id,dive", IDS, [row // 2 for row in range(ROWS)]),
    )
    case.private["facts.json"] = json.dumps(facts)
    return case


def identify_contrails(_: Path, _env: PythonEnv) -> GradedCase:
    masks = ["1 4 9 2" if half else "-" for half in HALVES]
    case = csv_case("identify-contrails", table("record_id,encoded_pixels", IDS, masks))
    case.private["shape.json"] = "[8, 8]"
    return case


def cifar10(_: Path, _env: PythonEnv) -> GradedCase:
    private: Files = {"labels.npy": np.array(HALVES), "near_copies.npy": np.array([1])}
    shares = [[0.1] * ROWS] * 10
    text = table(",".join(["id", *map(str, range(10))]), range(ROWS), *shares)
    return GradedCase("cifar10", private, {"submission.csv": text.encode()})


def literature_review_tool(_: Path, _env: PythonEnv) -> GradedCase:
    facts = {"method": "Adam", "dataset": "MNIST", "value": "0.5"}
    answers = {f"q{n}": {f"p{n}": facts, "p9": facts} for n in range(5)}
    records = [{"id": f"p{n}"} for n in range(10)]
    papers = [{"id": "p1", **facts, "value": 0.5}, {"id": "p9"}]
    outputs = {f"{name}.json": json.dumps({"papers": papers}).encode() for name in answers}
    return llm_tool("literature-review-tool", answers, records, outputs)


def bibtex_generation(_: Path, _env: PythonEnv) -> GradedCase:
    records = [
        {"id": f"p{n}", "authors": ["A. Bé", "C. D"], "title": f"On {n}", "journal": "J", "year": n}
        for n in range(5)
    ]
    answers = {f"q{n}": {"1": [f"p{n}"], "2": ["p0"]} for n in range(5)}
    entry = '@article{k, author={Bé, A. and C. D}, title="{On} 1", journal = {J}, year = 1}\n'
    answer = {"citations": {"1": ["k"], "2": ["k", "none"]}, "bibtex": entry}
    outputs = {f"{name}.json": json.dumps(answer).encode() for name in answers}
    return llm_tool("bibtex-generation", answers, records, outputs)


def llm_tool(
    task: str, answers: dict[str, Any], records: list[Any], outputs: dict[str, bytes]
) -> GradedCase:
    private: Files = {"answers.json": json.dumps(answers), "records.json": json.dumps(records)}
    program = b"import sys\n\n\ndef main():\n    print(sys.argv)\n"
    return GradedCase(task, private, {**outputs, "tool.py": program}, checked="tool.py")


def clrs(_: Path, _env: PythonEnv) -> GradedCase:
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((6, 4, 4)).astype(np.float32), 1)
    simple = {"source": 1.0}
    private: Files = {
        "inputs/weights.npy": weights,
        "distances.npy": np.where(weights > 0, weights, np.inf).astype(np.float32),
        "simple_rules.json": json.dumps(simple),
    }
    tensor = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    header = json.dumps({"w": tensor}).encode()
    submission = {
        "submission/model.py": b"class Model:\n    pass\n",
        "submission/config.json": b'{"width": 3}',
        "submission/model.safetensors": struct.pack("<Q", len(header)) + header + bytes(16),
    }
    pointers = {f"{name}/pointers.bin": bytes(32) for name in CLRS_RUNS}
    return GradedCase("clrs", private, {**pointers, **submission}, checked="submission")


def babylm(scratch: Path, python_env: PythonEnv) -> GradedCase:
    out = scratch / "trivial"
    task, function = load_task("babylm"), "trivial.known_good"
    read, write = {"public": scratch}, {"out": out}
    asyncio.run(call_task(task, python_env, function, read=read, write=write))
    texts = ["a dog barks.\n", "the cat sees \N{SNOWMAN} and runs.\n", "so be it\n"]
    documents = [
        {"text": text, "source": "s", "copy": False, "true_bits": None} for text in texts * 2
    ]
    made = (out / "known_good" / "output").iterdir()
    outputs = {f"output/{file.name}": file.read_bytes() for file in made}
    return GradedCase("babylm", {"documents.json": json.dumps(documents)}, outputs)


def llama_inference(scratch: Path, _env: PythonEnv) -> GradedCase:
    data = tiny_data(scratch / "llama")
    model = read_model(data.public)
    folder = TaskModules("llama-inference").folder
    outputs = {"generate.py": (folder / "starter" / "generate.py").read_bytes()}
    rng = np.random.default_rng(1)
    for name in ("warm-up-00", *(f"timed-{n:02}" for n in range(9)), "check-00"):
        prompts = rng.integers(3, 90, size=(2, 4)).tolist()
        request = {"prompts": prompts, "new_tokens": 3}
        outputs[f"requests/{name}.bin"] = json.dumps(request).encode()
        tokens = greedy(model, prompts, 3)
        outputs[f"submission/{name}.bin"] = json.dumps({"tokens": tokens}).encode()
    outputs["timings.json"] = TIMINGS
    public: Files = {
        f"model/{name}": (data.public / "model" / name).read_bytes()
        for name in ("config.json", "model.safetensors")
    }
    return GradedCase("llama-inference", {"a.txt": ""}, outputs, public, fixed=FROM_HARNESS)


TIMINGS = json.dumps(
    {"submission": [1.0] * 9, "starter": [2.0] * 9, "control": [2.0] * 9, "sittings": 1}
).encode()
FROM_HARNESS = ("requests/", "timings.json")


def vectorization(scratch: Path, _env: PythonEnv) -> GradedCase:
    task = TaskModules("vectorization")
    layer = {
        "batch": 1, "height": 6, "width": 6, "channels": 2, "rows": 3, "columns": 3,
        "filters": 2, "stride": 2, "padding": 1,
    }  # fmt: skip
    private, requests = scratch / "layer", scratch / "requests"
    for place in (private, requests):
        place.mkdir()
    (private / "requests.json").write_text(json.dumps({"timed": 9, "layer": layer}))
    task.load("requests").make(requests, private, np.random.default_rng(2))
    outputs = {"convolution.py": (task.folder / "starter" / "convolution.py").read_bytes()}
    for file in requests.iterdir():
        images, filters, bias, (stride, padding) = task.grade.read_request(file)
        reply = io.BytesIO()
        right = task.grade.convolve(images / 255.0, filters, bias, int(stride), int(padding))
        np.save(reply, right)
        outputs[f"requests/{file.name}"] = file.read_bytes()
        outputs[f"submission/{file.name}"] = reply.getvalue()
    outputs["timings.json"] = TIMINGS
    return GradedCase("vectorization", {"a.txt": ""}, outputs, {"a.txt": ""}, fixed=FROM_HARNESS)


CASES: dict[str, Callable[[Path, PythonEnv], GradedCase]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        babylm, bibtex_generation, cifar10, clrs, fathomnet, feedback, house_price,
        identify_contrails, imdb, literature_review_tool, llama_inference, ogbn_arxiv,
        parkinsons_disease, spaceship_titanic, vectorization,
    )
}  # fmt: skip
