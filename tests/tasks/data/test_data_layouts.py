"""The layouts that each task's page documents for --from, and what is refused, on small files."""

import asyncio
import gzip
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_tasks import plain_call
from tabular_tasks import TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather, require_files
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_task

CHECKPOINT = ("config.json", "model.safetensors", "tokenizer.json")
BABYLM = [
    f"{folder}/{source}.{part}"
    for folder, part in (("babylm_10M", "train"), ("babylm_dev", "dev"), ("babylm_test", "test"))
    for source in (
        "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed",
        "simple_wikipedia", "switchboard", "wikipedia",
    )
]  # fmt: skip


def write(directory: Path, names: list[str] | tuple[str, ...], text: str = "a b\n") -> Path:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def cifar(directory: Path, rows: int = 4) -> Path:
    directory.mkdir(parents=True)
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        data = np.zeros((rows, 3072), dtype=np.uint8)
        batch = {b"labels": [row % 3 for row in range(rows)], b"data": data}
        (directory / name).write_bytes(pickle.dumps(batch, protocol=2))
    (directory / "batches.meta").write_bytes(pickle.dumps({b"label_names": [b"cat", b"dog"]}, 2))
    return directory


def cora(directory: Path, nodes: int = 27) -> Path:
    """Another citation graph, as OGB's own program would unpack it."""
    years = np.array([2015 + 5 * node // nodes for node in range(nodes)])
    tables = {
        "raw/edge": np.array([[node, node // 2] for node in range(nodes)]),
        "raw/node-feat": np.zeros((nodes, 14), dtype=int),
        "raw/node-label": np.arange(nodes) % 7,
        "raw/node_year": years,
        "split/time/train": np.flatnonzero(years < 2018),
        "split/time/valid": np.flatnonzero(years == 2018),
        "split/time/test": np.flatnonzero(years > 2018),
    }
    for name, table in tables.items():
        text = io.StringIO()
        np.savetxt(text, table, fmt="%d", delimiter=",")
        file = directory / f"{name}.csv.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.getvalue().encode()))
    write(directory, ["mapping/README.md", "processed/pre_processed", "RELEASE_v1.txt"])
    return directory


def imdb(directory: Path, reviews: int = 3) -> Path:
    for part in ("train", "test"):
        for name, rating in (("pos", 9), ("neg", 2)):
            files = [f"{part}/{name}/{number}_{rating}.txt" for number in range(reviews)]
            write(directory, files, f"{part} {name}")
            write(directory, [f"{part}/urls_{name}.txt"], "http://film\n" * reviews)
    return directory


def contrails(directory: Path, size: int = 8) -> Path:
    for part in ("train", "validation"):
        folder = directory / part / "7"
        folder.mkdir(parents=True)
        for band in (11, 14, 15):
            np.save(folder / f"band_{band}.npy", np.full((size, size, 8), 280, dtype=np.float32))
        np.save(folder / "human_pixel_masks.npy", np.zeros((size, size, 1), dtype=np.int32))
        (directory / f"{part}_metadata.json").write_text(json.dumps([{"record_id": "7"}]))
    return directory


def llama(directory: Path) -> Path:
    write(directory / "TinyLlama-1.1B-Chat-v1.0", CHECKPOINT)
    return write(directory / "wikitext-2-raw", ["wiki.valid.raw", "wiki.test.raw"]).parent


def imdb_with_checkpoint(directory: Path) -> Path:
    names = (*CHECKPOINT, "tokenizer_config.json", "vocab.txt")
    write(directory / "distilbert-base-uncased", names)
    imdb(directory / "aclImdb")
    return directory


def fathomnet(directory: Path) -> Path:
    """The tree as Kaggle's archive unpacks, in a folder of its own, beside the images."""
    tree = directory / "fathomnet-out-of-sample-detection"
    write(tree, ["multilabel_classification/train.csv"], "id,categories\na,[1.0]\n")
    write(tree, ["category_key.csv"], "id,name,supercat\n1,Fish,Fish\n")
    images = [{"id": 1, "file_name": "a.png", "coco_url": "http://127.0.0.1:9/dive/0824/a.png"}]
    listing = json.dumps({"images": images, "annotations": []})
    write(tree, ["object_detection/train.json", "object_detection/eval.json"], listing)
    write(directory, ["images/a.png"], "")
    (directory / "images/a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"IEND\xaeB`\x82")
    return directory


def zipped(directory: Path, tree: Path) -> Path:
    directory.mkdir(parents=True)
    with zipfile.ZipFile(directory / "data.zip", "w") as archive:
        for file in sorted(path for path in tree.rglob("*") if path.is_file()):
            archive.write(file, file.relative_to(tree))
    return directory


def beside_others(directory: Path, name: str, build: Callable[[Path], Path]) -> Path:
    write(directory, ["notes/about.txt", "other/more.txt"])
    build(directory / name)
    return directory


Layout = Callable[[Path], Path]
LAYOUTS: dict[str, tuple[str, Layout]] = {
    "cifar10: the folder": ("cifar10", lambda own: cifar(own / "cifar-10-batches-py")),
    "cifar10: its parent": ("cifar10", lambda own: cifar(own / "cifar-10-batches-py").parent),
    "cifar10: beside others": (
        "cifar10", lambda own: beside_others(own, "cifar-10-batches-py", cifar),
    ),
    "arxiv: OGB's folder": ("ogbn-arxiv", lambda own: cora(own / "ogbn_arxiv")),
    "arxiv: its parent": ("ogbn-arxiv", lambda own: cora(own / "ogbn_arxiv").parent),
    "arxiv: OGB's root": ("ogbn-arxiv", lambda own: cora(own / "dataset/ogbn_arxiv").parent.parent),
    "arxiv: beside others": ("ogbn-arxiv", lambda own: beside_others(own, "ogbn_arxiv", cora)),
    "arxiv: unpacked": ("ogbn-arxiv", lambda own: cora(own / "arxiv").parent),
    "imdb: tree and clone": ("imdb", imdb_with_checkpoint),
    "babylm: tree": ("babylm", lambda own: write(own / "babylm_data", BABYLM).parent),
    "babylm: the folder": ("babylm", lambda own: write(own / "babylm_data", BABYLM)),
    "babylm: its parts": ("babylm", lambda own: write(own, BABYLM)),
    "llama: clone and text": ("llama-inference", llama),
    "contrails: tree": ("identify-contrails", contrails),
    "contrails: archive": (
        "identify-contrails", lambda own: zipped(own / "zip", contrails(own / "tree")),
    ),
    "fathomnet: tree beside images": ("fathomnet", fathomnet),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_documented_layouts_are_accepted_and_checked(layout: str, tmp_path: Path) -> None:
    name, build = LAYOUTS[layout]
    own, raw = build(tmp_path / "own"), tmp_path / "raw"
    raw.mkdir()
    task = load_task(name)
    require_files(task, own)
    gathering = gather(task, raw, from_dir=own, accept_unverified=True, progress=Silent())
    gathered = asyncio.run(gathering)
    assert len(gathered.sources) == 64 and gathered.unverified
    differences = TaskModules(name).prepare.check_raw(raw)
    assert differences and all(", expected " in text for text in differences)


def test_a_folder_without_a_batch_is_refused_by_its_name(tmp_path: Path) -> None:
    own = cifar(tmp_path / "cifar-10-batches-py")
    (own / "data_batch_3").unlink()
    with pytest.raises(UsageError, match=r"cifar10: cifar-10-batches-py/data_batch_3 not found in"):
        require_files(load_task("cifar10"), own)


def test_an_empty_directory_is_told_all_alternatives(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        require_files(load_task("ogbn-arxiv"), tmp_path)
    said = str(raised.value)
    assert "ogbn-arxiv: arxiv.zip not found in" in said and f"looked in: {tmp_path}" in said
    assert "what it unpacks to: arxiv/raw/edge.csv.gz, " in said
    assert "arxiv/split/time/test.csv.gz, or the same in ogbn_arxiv/" in said


def test_batches_that_differ_are_all_named(tmp_path: Path) -> None:
    own = cifar(tmp_path / "own")
    raw = tmp_path / "raw"
    raw.mkdir()
    task = load_task("cifar10")
    with pytest.raises(UsageError) as raised:
        asyncio.run(gather(task, raw, from_dir=own, accept_unverified=False, progress=Silent()))
    assert str(raised.value).count("md5 ") == 7


def test_cora_is_not_arxiv(tmp_path: Path, this_env: PythonEnv) -> None:
    task, own = load_task("ogbn-arxiv"), cora(tmp_path / "ogbn_arxiv")
    with pytest.raises(UsageError) as raised:
        asyncio.run(prepare(task, "full", call=plain_call, python_env=this_env, from_dir=own))
    said = str(raised.value)
    for difference in (
        "columns of arxiv/raw/node-feat.csv.gz: 14, expected 128",
        "rows of arxiv/raw/node-feat.csv.gz: 27, expected 169,343",
        "rows of arxiv/raw/edge.csv.gz: 27, expected 1,166,243",
        "classes in arxiv/raw/node-label.csv.gz: 7, expected 40",
        "rows of arxiv/split/time/test.csv.gz: 5, expected 48,603",
    ):
        assert difference in said
    assert "newest year" not in said


def test_what_is_as_expected_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arxiv, reviews = TaskModules("ogbn-arxiv").prepare, TaskModules("imdb").prepare
    cora(tmp_path / "arxiv")
    rows = dict.fromkeys(arxiv.OFFICIAL_ROWS, 27)
    rows |= {arxiv.TRAIN: 17, arxiv.VALID: 5, arxiv.TEST: 5}
    monkeypatch.setattr(arxiv, "OFFICIAL_ROWS", rows)
    monkeypatch.setattr(arxiv, "OFFICIAL_FEATURES", 14)
    monkeypatch.setattr(arxiv, "OFFICIAL_CLASSES", 7)
    assert arxiv.check_raw(tmp_path) == []
    imdb(tmp_path / "aclImdb")
    monkeypatch.setattr(reviews, "OFFICIAL_REVIEWS", 3)
    assert reviews.check_raw(tmp_path) == []
    (tmp_path / "aclImdb/train/pos/7_5.txt").write_text("so so")
    assert reviews.check_raw(tmp_path) == [
        "reviews in train/pos: 4, expected 3",
        "reviews in train/pos not rated 7 to 10: 1, expected 0",
    ]


def test_a_dive_has_one_name(tmp_path: Path) -> None:
    dive_of = TaskModules("fathomnet").prepare.dive_of
    address = "https://fathomnet.org/static/m3/framegrabs/Ventana/images/{}/00_01_02_03.png"
    assert dive_of(address.format("0824")) == dive_of(address.format("824"))
    assert dive_of(address.format("0824")) != dive_of(address.format("8240"))
    assert dive_of(address.format("1000")).endswith("Ventana/images/1000")
