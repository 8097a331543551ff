"""Small files in the layouts of the official data, for `--from`."""

import gzip
import io
import json
import pickle
from pathlib import Path

import numpy as np

CHECKPOINT = ("config.json", "model.safetensors", "tokenizer.json")


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


def imdb_with_checkpoint(directory: Path) -> Path:
    names = (*CHECKPOINT, "tokenizer_config.json", "vocab.txt")
    write(directory / "distilbert-base-uncased", names)
    imdb(directory / "aclImdb")
    return directory
