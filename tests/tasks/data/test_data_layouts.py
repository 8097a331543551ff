"""The layouts that each task's page documents for --from, and what is refused, on small files."""

import asyncio
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from raw_layouts import CHECKPOINT, cifar, contrails, cora, imdb, imdb_with_checkpoint, write
from small_tasks import plain_call
from tabular_tasks import TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import Findings
from mlagentbench.tasks.data.preparation import prepare
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather, require_files
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import load_task

BABYLM = [
    f"{folder}/{source}.{part}"
    for folder, part in (("babylm_10M", "train"), ("babylm_dev", "dev"), ("babylm_test", "test"))
    for source in (
        "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed",
        "simple_wikipedia", "switchboard", "wikipedia",
    )
]  # fmt: skip


def llama(directory: Path) -> Path:
    write(directory / "TinyLlama-1.1B-Chat-v1.0", CHECKPOINT)
    return write(directory / "wikitext-2-raw", ["wiki.valid.raw", "wiki.test.raw"]).parent


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
    findings = TaskModules(name).prepare.check_raw(raw)
    assert findings.differences
    assert all(", expected " in text for text in findings.differences)


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


def test_checksums_and_contents_that_differ_are_named_together(
    tmp_path: Path, this_env: PythonEnv
) -> None:
    task, own = load_task("cifar10"), cifar(tmp_path / "own")
    with pytest.raises(UsageError) as raised:
        asyncio.run(prepare(task, "full", call=plain_call, python_env=this_env, from_dir=own))
    said = str(raised.value)
    assert said.count("md5 ") == 7 and said.count("images in ") == 6
    assert "continue with --accept-unverified" in said
    accept = prepare(
        task, "full", call=plain_call, python_env=this_env, from_dir=own, accept_unverified=True
    )
    accepted = asyncio.run(accept).accepted
    assert len(accepted) == said.count(", expected ") > 13


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
    assert arxiv.check_raw(tmp_path) == Findings()
    imdb(tmp_path / "aclImdb")
    monkeypatch.setattr(reviews, "OFFICIAL_REVIEWS", 3)
    assert reviews.check_raw(tmp_path) == Findings()
    (tmp_path / "aclImdb/train/pos/7_5.txt").write_text("so so")
    findings = reviews.check_raw(tmp_path)
    assert findings.differences == [
        "reviews in train/pos: 4, expected 3",
        "reviews in train/pos not rated 7 to 10: 1, expected 0",
    ]
    assert findings.faults == [
        "reviews in train/pos without a line in train/urls_pos.txt: 1, expected 0"
    ]


def test_labels_of_other_images_are_faults(tmp_path: Path) -> None:
    tree = fathomnet(tmp_path / "fathomnet") / "fathomnet-out-of-sample-detection"
    prepare_py = TaskModules("fathomnet").prepare
    assert prepare_py.check_raw(tree).faults == []
    (tree / "multilabel_classification/train.csv").write_text("id,categories\nb,[1.0]\n")
    (tree / "category_key.csv").write_text("number,name\n1,Fish\n")
    assert prepare_py.check_raw(tree).faults == [
        "object_detection/train.json: cannot be read: ValueError: object_detection/train.json has "
        "no image b",
        "category_key.csv: cannot be read: KeyError: 'id'",
    ]


def test_a_dive_has_one_name(tmp_path: Path) -> None:
    dive_of = TaskModules("fathomnet").prepare.dive_of
    address = "https://fathomnet.org/static/m3/framegrabs/Ventana/images/{}/00_01_02_03.png"
    assert dive_of(address.format("0824")) == dive_of(address.format("824"))
    assert dive_of(address.format("0824")) != dive_of(address.format("8240"))
    assert dive_of(address.format("1000")).endswith("Ventana/images/1000")
