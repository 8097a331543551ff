"""Gives out the training and development text; passages of the test text stay hidden.

Scoring all ten million words of the official test text would take hours, so it is done on passages
drawn at random, from each file as many as its size calls for. Everything of babylm_test/ stays out
of public/.
"""

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mlagentbench_task import Findings

SOURCES = [
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed",
    "simple_wikipedia", "switchboard", "wikipedia",
]  # fmt: skip
ARCHIVE, TOP = "babylm_data.zip", "babylm_data"
FOLDERS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
OFFICIAL_MILLIONS = (8.0, 12.0)
"""Words of each part: about ten millions."""
LARGEST, LARGEST_SHARE = "open_subtitles", (0.22, 0.38)
"""The largest of the ten sources: about 30 % of the words."""
PASSAGES = 300
PASSAGE_BYTES = 800
LONGEST_BYTES = 2_400
"""A passage ends with the line that fills it; a longer one is cut off."""
LEAST_LINE = 20
"""Shorter lines are in every text and make no passage a copy."""
TRAINING = {
    "vocabulary": 16384, "layers": 6, "heads": 6, "width": 384, "context": 256,
    "batch_size": 32, "learning_rate": 0.0005, "steps": 4000,
}  # fmt: skip


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    files = read_files(raw)
    passages = {source: scored_passages(files, source) for source in SOURCES}
    write_parts(raw, files, passages, public, private, rng)


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: other passages of the official test text are scored, and as many again join
    the training text."""
    files = read_files(raw)
    passages = {source: scored_passages(files, source) for source in SOURCES}
    share = min(0.5, PASSAGES / sum(map(len, passages.values())))
    for source, found in passages.items():
        order = rng.permutation(len(found))
        joining = min(len(found) - 1, max(1, round(share * len(found))))
        text = "".join(found[place].text.rstrip("\n") + "\n" for place in order[:joining])
        files[official_name(source, "train")] += text.encode()
        passages[source] = [found[place] for place in np.sort(order[joining:])]
    write_parts(raw, files, passages, public, private, rng)


def scored_passages(files: dict[str, bytes], source: str) -> list["Passage"]:
    return cut_passages(as_text(files[official_name(source, "test")]))


def write_parts(
    raw: Path, files: dict[str, bytes], passages: dict[str, list["Passage"]],
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    for part in ("train", "dev"):
        (public / FOLDERS[part]).mkdir()
        for source in SOURCES:
            name = official_name(source, part)
            (public / name).write_bytes(files[name])
    given = raw / "training.json"
    training = json.loads(given.read_text()) if given.is_file() else TRAINING
    (public / "training.json").write_text(json.dumps(training, indent=2) + "\n")

    known = {
        line
        for source in SOURCES
        for line in as_text(files[official_name(source, "train")]).split("\n")
        if len(line) >= LEAST_LINE
    }
    documents = [
        {
            "source": source,
            "text": passages[source][place].text,
            "copy": is_copy(passages[source][place].text, known),
            "true_bits": true_bits(raw, source, passages[source][place]),
        }
        for source, place in chosen_places(passages, rng)
    ]
    (private / "documents.json").write_text(json.dumps(documents, indent=1) + "\n")


def check_raw(raw: Path) -> Findings:
    """What is different from the official text; its makers tell the number of words roughly."""
    findings, files = Findings(), {}
    with findings.reading(ARCHIVE):
        files = read_files(raw)
    if not files:
        return findings
    for part, folder in FOLDERS.items():
        counts = {source: len(files[official_name(source, part)].split()) for source in SOURCES}
        millions = round(sum(counts.values()) / 1e6, 2)
        findings.expect_between(f"million words in {folder}", millions, *OFFICIAL_MILLIONS)
        share = round(counts[LARGEST] / max(1, sum(counts.values())), 2)
        findings.expect_between(
            f"share of {LARGEST} among the words in {folder}", share, *LARGEST_SHARE
        )
        empty = [official_name(source, part) for source, count in counts.items() if count == 0]
        findings.differences += [f"{name} is empty" for name in empty]
    if not any(scored_passages(files, source) for source in SOURCES):
        findings.faults.append(f"{FOLDERS['test']} has no passage of {PASSAGE_BYTES} bytes")
    return findings


def official_name(source: str, part: str) -> str:
    return f"{FOLDERS[part]}/{source}.{part}"


def read_files(raw: Path) -> dict[str, bytes]:
    """The thirty official files by name: unpacked, or straight out of the archive."""
    names = [official_name(source, part) for part in FOLDERS for source in SOURCES]
    if (raw / ARCHIVE).is_file():
        with zipfile.ZipFile(raw / ARCHIVE) as archive:
            members = set(archive.namelist())
            if missing := [name for name in names if f"{TOP}/{name}" not in members]:
                raise FileNotFoundError(f"{ARCHIVE} lacks {TOP}/{missing[0]}")
            return {name: archive.read(f"{TOP}/{name}") for name in names}
    folder = raw / TOP if (raw / TOP).is_dir() else raw
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise FileNotFoundError(f"neither {ARCHIVE} nor {missing[0]} found among the raw files")
    return {name: (folder / name).read_bytes() for name in names}


def as_text(contents: bytes) -> str:
    """Bytes that are no UTF-8, should there be any, become the replacement character."""
    return contents.decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Passage:
    """Lines that follow each other, the last one perhaps cut off."""

    text: str
    first_line: int
    lines: int


def cut_passages(text: str) -> list[Passage]:
    """The whole text in passages; what is left over at its end belongs to none."""
    passages, lines, size, first = [], [], 0, 0
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        lines.append(line + "\n")
        size += len(lines[-1].encode())
        if size >= PASSAGE_BYTES:
            whole = "".join(lines).encode()[:LONGEST_BYTES].decode(errors="ignore")
            passages.append(Passage(whole, first, number - first))
            lines, size, first = [], 0, number
    return passages


def chosen_places(
    passages: dict[str, list[Passage]], rng: np.random.Generator
) -> list[tuple[str, int]]:
    """Which passages of which file: of each about the same share, in random order."""
    share = min(1.0, PASSAGES / sum(map(len, passages.values())))
    chosen = []
    for source, found in passages.items():
        count = min(len(found), max(1, round(share * len(found))))
        chosen += [(source, int(place)) for place in rng.permutation(len(found))[:count]]
    return [chosen[place] for place in rng.permutation(len(chosen))]


def is_copy(text: str, known: set[str]) -> bool:
    """Whether more than half of a passage are lines of the training text."""
    copied = sum(len(line) for line in text.split("\n") if line in known)
    return copied > len(text) / 2


def true_bits(raw: Path, source: str, passage: Passage) -> float | None:
    """The bits that the source of generated text itself needs; None for real text.

    Given are the log-probabilities of each line under each topic; from line to line the topic may
    change, and before the first line all topics are equally likely.
    """
    if not (raw / "true_model.json").is_file():
        return None
    switch = json.loads((raw / "true_model.json").read_text())["switch"]
    rows = np.load(raw / f"true_{source}.npy", allow_pickle=False)
    belief = np.full(rows.shape[1], 1 / rows.shape[1])
    nats = 0.0
    for row in rows[passage.first_line : passage.first_line + passage.lines]:
        likely = belief * np.exp(row - row.max())
        nats -= math.log(likely.sum()) + row.max()
        belief = (1 - switch) * likely / likely.sum() + switch / len(row)
    return round(nats / math.log(2), 4)
