"""The task fathomnet: the official layout, generated pictures, the split by dive, the grader."""

import asyncio
import csv
import importlib.util
import json
import re
import struct
import sys
import zipfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import mlagentbench.guest.mlagentbench_intervals as interval_helpers
import mlagentbench.guest.mlagentbench_task as task_helpers
from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.data.sources import require_files
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import SUITE, load_folder

TASK = load_folder(SUITE / "fathomnet")
DIVES, FRAMES = 10, 6
WIDE, SMALL = (1030, 600), (30, 20)


def load_grader() -> ModuleType:
    sys.modules.setdefault("mlagentbench_task", task_helpers)
    sys.modules.setdefault("mlagentbench_intervals", interval_helpers)
    spec = importlib.util.spec_from_file_location("fathomnet_grade", TASK.folder / "grade.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GRADE = load_grader()


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as handle:
        lines = (line for line in handle if not line.startswith("#"))
        return list(csv.DictReader(lines))


# The official layout


PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


def png(size: tuple[int, int], colour: tuple[int, int, int], note: bytes = b"") -> bytes:
    """A picture of one colour, compressed, with a note as cameras write them."""
    width, height = size
    pixels = zlib.compress((b"\0" + bytes(colour) * width) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"tEXt", b"Comment\0" + note), (b"IDAT", pixels), (b"IEND", b""))
    return PNG_START + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


def read_png(file: Path) -> tuple[tuple[int, int], set[bytes], list[bytes]]:
    """Size, the different pixels, and the names of the chunks."""
    contents, place = file.read_bytes(), 8
    chunks: dict[bytes, bytes] = {}
    while place < len(contents):
        length, name = struct.unpack(">I4s", contents[place : place + 8])
        chunks[name] = contents[place + 8 : place + 8 + length]
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = zlib.decompress(chunks[b"IDAT"])
    assert len(lines) == height * (1 + 3 * width)
    colours = {
        lines[start : start + 3]
        for row in range(height)
        for start in range(row * (1 + 3 * width) + 1, (row + 1) * (1 + 3 * width), 3)
    }
    return (width, height), colours, list(chunks)


def official_name(number: int) -> str:
    return f"{number:08d}-772d-486d-b8e2-b651246316b5"


def write_official(directory: Path) -> None:
    """Ten dives of six frames; every frame has the category 100 and one of its dive's own."""
    images, annotations, labels = [], [], []
    (directory / "images").mkdir(parents=True)
    for number in range(DIVES * FRAMES):
        dive, name = number // FRAMES, official_name(number)
        size = WIDE if number % FRAMES == 0 else SMALL
        vehicle = "Doc%20Ricketts" if dive % 2 else "Ventana"
        images.append(
            {
                "id": number + 1, "width": size[0], "height": size[1], "file_name": f"{name}.png",
                "date_captured": "2013-05-17 18:03:01",
                "coco_url": f"https://fathomnet.org/static/m3/framegrabs/{vehicle}/images/"
                f"{3000 + dive}/00_{number:02d}_18_21.png",
            }
        )  # fmt: skip
        for category in (100, 1 + dive):
            box = [size[0] / 10, 2.0, 10.0, 8.0]
            annotations.append({"image_id": number + 1, "category_id": category, "bbox": box})
        labels.append([name, f"[{1.0 + dive}, 100.0]"])
        note = f"dive {3000 + dive}".encode()
        contents = png(size, (number, 2 * number, 255), note)
        (directory / "images" / f"{name}.png").write_bytes(contents)
    (directory / "object_detection").mkdir()
    coco = {"info": {}, "images": images, "annotations": annotations, "categories": []}
    (directory / "object_detection" / "train.json").write_text(json.dumps(coco))
    (directory / "multilabel_classification").mkdir()
    with (directory / "multilabel_classification" / "train.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([["id", "categories"], *labels])
    key = [f"{n},animal {n},Worm\n" for n in range(1, 291)]
    (directory / "category_key.csv").write_text("id,name,supercat\n" + "".join(key))


def make_full(env: PythonEnv, directory: Path) -> PreparedData:
    """Prepared from few images, which is accepted as a difference."""
    return asyncio.run(
        prepare(
            TASK, "full", call=call_task, python_env=env, from_dir=directory, accept_unverified=True
        )
    )


@pytest.fixture
def official(tmp_path: Path) -> Path:
    write_official(tmp_path / "official")
    return tmp_path / "official"


def test_the_folder_is_valid() -> None:
    spec = TASK.spec
    assert "torch==2.13.0" in spec.python.requirements
    assert [file.path for file in spec.sources[0].files] == [
        "multilabel_classification/train.csv", "object_detection/train.json", "category_key.csv",
    ]  # fmt: skip
    assert spec.sources[0].images is not None
    assert spec.sources[0].images.listing == "object_detection/train.json"


@pytest.mark.slow
def test_official_images_are_split_by_dive_and_lose_all_but_their_pixels(
    official: Path, torch_env: PythonEnv
) -> None:
    data = make_full(torch_env, official)
    mapping = {row["id"]: int(row["original"][:8]) for row in rows(data.private / "mapping.csv")}
    assert sorted(mapping.values()) == list(range(DIVES * FRAMES))
    test, train = rows(data.public / "test.csv"), rows(data.public / "train.csv")
    assert len(test) == DIVES * FRAMES * 0.2
    dives = {part: {mapping[row["id"]] // FRAMES for row in part_rows}
             for part, part_rows in (("test", test), ("train", train))}  # fmt: skip
    assert len(dives["test"]) == 2 and dives["test"].isdisjoint(dives["train"])
    for row in train:
        assert row["categories"] == f"{1 + mapping[row['id']] // FRAMES} 100"
    for row in rows(data.private / "answers.csv"):
        assert row["categories"] == f"{1 + mapping[row['id']] // FRAMES} 100"
    shown = defaultdict(set)
    for row in train:
        shown[row["dive"]].add(mapping[row["id"]] // FRAMES)
    assert all(len(dive) == 1 for dive in shown.values()) and len(shown) == 8
    assert [mapping[row["id"]] for row in train] != sorted(mapping[row["id"]] for row in train)

    for folder, part in (("train_images", train), ("test_images", test)):
        assert {file.stem for file in (data.public / folder).iterdir()} == {r["id"] for r in part}
        for row in part:
            number = mapping[row["id"]]
            size, colours, chunks = read_png(data.public / folder / f"{row['id']}.png")
            assert chunks == [b"IHDR", b"IDAT", b"IEND"]
            assert colours == {bytes([number, 2 * number, 255])}
            assert size == ((512, 298) if number % FRAMES == 0 else SMALL)
    for row in test:
        wide = mapping[row["id"]] % FRAMES == 0
        assert (row["width"], row["height"]) == (("512", "298") if wide else ("30", "20"))
        assert set(row) == {"id", "width", "height"}
    facts = json.loads((data.private / "facts.json").read_text())
    assert facts["categories"] == list(range(1, 291)) and facts["images_left_out"] == 0
    assert facts["labels_never_seen_in_training"] == 12 and facts["labels"] == 24


@pytest.mark.slow
def test_boxes_fit_the_smaller_images_and_nothing_official_is_public(
    official: Path, torch_env: PythonEnv
) -> None:
    with zipfile.ZipFile(official.parent / "all.zip", "w") as archive:
        for file in sorted(official.rglob("*")):
            archive.write(file, file.relative_to(official))
    packed = official.parent / "packed"
    packed.mkdir()
    (official.parent / "all.zip").rename(packed / "fathomnet-out-of-sample-detection.zip")
    data = make_full(torch_env, packed)
    mapping = {row["id"]: int(row["original"][:8]) for row in rows(data.private / "mapping.csv")}
    boxes = rows(data.public / "train_boxes.csv")
    assert len(boxes) == 2 * 48
    for box in boxes:
        wide = mapping[box["id"]] % FRAMES == 0
        found = [box[name] for name in ("left", "top", "width", "height")]
        assert found == (["51.2", "1.0", "5.0", "4.0"] if wide else ["3.0", "2.0", "10.0", "8.0"])
    public = {file: file.read_bytes() for file in data.public.rglob("*") if file.is_file()}
    for word in (b"772d-486d", b"Ventana", b"Ricketts", b"framegrabs", b"2013-05", b"dive 30"):
        assert not any(word in contents for contents in public.values())
    assert sorted(path.name for path in data.public.iterdir()) == [
        "category_key.csv", "sample_submission.csv", "test.csv", "test_images", "train.csv",
        "train_boxes.csv", "train_images", "training.json",
    ]  # fmt: skip
    settings = json.loads((data.public / "training.json").read_text())
    assert (settings["image_size"], settings["epochs"]) == (256, 1)
    assert GRADE.ceiling(data.private) is None


@pytest.mark.slow
def test_damaged_images_are_left_out_and_counted(official: Path, torch_env: PythonEnv) -> None:
    damaged = [official / "images" / f"{official_name(number)}.png" for number in (7, 20, 41, 55)]
    for file in damaged[:3]:
        file.write_bytes(file.read_bytes()[:60] + PNG_END)
    data = make_full(torch_env, official)
    left_out = rows(data.private / "excluded.csv")
    assert [row["original"] for row in left_out] == [official_name(n) for n in (7, 20, 41)]
    assert all(row["reason"].startswith("damaged: ") for row in left_out)
    listed = rows(data.public / "train.csv") + rows(data.public / "test.csv")
    assert len(listed) == DIVES * FRAMES - 3
    assert json.loads((data.private / "facts.json").read_text())["images_left_out"] == 3
    sample = (data.public / "sample_submission.csv").read_text()
    (official / "submission.csv").write_text(sample)
    assert GRADE.grade(official, data.private).extra["images_left_out"] == 3


@pytest.mark.slow
def test_many_damaged_images_are_an_error(official: Path, torch_env: PythonEnv) -> None:
    for number in (7, 20, 41, 55):
        (official / "images" / f"{official_name(number)}.png").write_bytes(PNG_START + PNG_END)
    said = (
        r"no data can be prepared from these files: .*4 of 60 images are missing or damaged, first"
    )
    with pytest.raises(UsageError, match=said):
        make_full(torch_env, official)


@pytest.mark.parametrize("lacking", ["object_detection/train.json", "category_key.csv"])
def test_a_wrong_directory_is_refused(official: Path, lacking: str) -> None:
    (official / lacking).unlink()
    with pytest.raises(UsageError, match=f"fathomnet: {re.escape(lacking)} not found in"):
        require_files(TASK, official)


# The mini tier


@pytest.fixture(scope="module")
def mini(torch_env: PythonEnv, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return asyncio.run(prepare(TASK, "mini", call=call_task, python_env=torch_env))


@pytest.mark.slow
def test_mini_is_what_the_figures_were_measured_on(mini: PreparedData) -> None:
    assert mini.hash == TASK.spec.measured["mini"].data


@pytest.mark.slow
def test_mini_has_sixty_categories_about_as_frequent(mini: PreparedData) -> None:
    train, answers = rows(mini.public / "train.csv"), rows(mini.private / "answers.csv")
    assert (len(train), len(answers)) == (1600, 400)
    counts = Counter(name for row in train for name in row["categories"].split())
    assert len(counts) == 60 and max(counts.values()) < 2.5 * min(counts.values())
    in_dives = Counter(row["dive"] for row in rows(mini.private / "dives.csv"))
    assert len(in_dives) == 10 and set(in_dives.values()) == {40}
    ceiling = GRADE.ceiling(mini.private)
    assert 0.9 < ceiling < 0.97
    assert TASK.spec.measured["mini"].ceiling == pytest.approx(ceiling)


@pytest.mark.slow
def test_mini_pictures_have_the_same_size_of_file(mini: PreparedData) -> None:
    files = [*(mini.public / "train_images").iterdir(), *(mini.public / "test_images").iterdir()]
    assert len(files) == 2000 and len({file.stat().st_size for file in files}) == 1
    size, colours, _ = read_png(files[0])
    assert size == (40, 40) and len(colours) > 500


@pytest.mark.slow
def test_whole_dives_are_held_out_for_feedback(
    mini: PreparedData, torch_env: PythonEnv, tmp_path: Path
) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    asyncio.run(
        call_task(
            TASK, torch_env, "prepare.hold_out", read={"public": mini.public},
            write={"held_public": public, "held_private": private}, seed=3,
        )
    )  # fmt: skip
    before = {row["id"]: row for row in rows(mini.public / "train.csv")}
    kept, answers = rows(public / "train.csv"), rows(private / "answers.csv")
    assert (len(kept), len(answers)) == (1280, 320)
    dives = [{before[row["id"]]["dive"] for row in part} for part in (kept, answers)]
    assert dives[0].isdisjoint(dives[1])
    assert all(row["categories"] == before[row["id"]]["categories"] for row in answers)
    assert {row["id"] for row in rows(public / "validation.csv")} == {r["id"] for r in answers}
    for folder, part in (("train_images", kept), ("validation_images", answers)):
        assert {file.stem for file in (public / folder).iterdir()} == {row["id"] for row in part}
    assert len(list((public / "test_images").iterdir())) == 400
    assert {row["id"] for row in rows(public / "train_boxes.csv")} == {row["id"] for row in kept}
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    perfect = "".join(f"{row['id']},{row['categories']}\n" for row in answers)
    (outputs / "submission.csv").write_text("id,categories\n" + perfect)
    assert GRADE.grade(outputs, private).score == 1
    sample = (public / "validation_sample_submission.csv").read_text()
    (outputs / "submission.csv").write_text(sample)
    assert GRADE.grade(outputs, private).score < 0.2


# The grader


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Four test images of two dives."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text("id,categories\na,7\nb,1 2\nc,3 9 12\nd,5\n")
    (private / "dives.csv").write_text("id,dive\na,x\nb,x\nc,y\nd,y\n")
    facts = {
        "categories": list(range(1, 31)), "labels": 7, "labels_never_seen_in_training": 1,
        "images_left_out": 2,
    }  # fmt: skip
    (private / "facts.json").write_text(json.dumps(facts))
    return private


def score(text: str, private: Path):
    outputs = private.parent / "outputs"
    outputs.mkdir(exist_ok=True)
    (outputs / "submission.csv").write_text(text)
    return GRADE.grade(outputs, private)


def test_map_at_20_by_hand(small: Path) -> None:
    grade = score("id,categories\nd,1 5\nc,9 1 3\na,7 8\nb,3 4 2 1\n", small)
    precisions = {
        "a": 1.0,
        "b": (1 / 3 + 2 / 4) / 2,
        "c": (1 / 1 + 2 / 3) / 3,
        "d": 1 / 2,
    }
    mean = sum(precisions.values()) / 4
    assert grade.score == pytest.approx(mean)
    dives = (
        precisions["a"] + precisions["b"] - 2 * mean,
        precisions["c"] + precisions["d"] - 2 * mean,
    )
    error = (2 / 1 * (dives[0] ** 2 + dives[1] ** 2)) ** 0.5 / 4
    assert grade.extra["standard_error"] == pytest.approx(error)
    assert (grade.extra["n"], grade.extra["groups"]) == (4, 2)
    assert grade.extra["share_of_labels_never_seen_in_training"] == pytest.approx(1 / 7)


def test_all_right_is_1_and_no_guess_is_0(small: Path) -> None:
    assert score("id,categories\na,7\nb,2 1\nc,12 3 9\nd,5 6 7\n", small).score == 1
    assert score("id,categories\na,\nb,\nc,\nd,\n", small).score == 0


def test_at_most_20_of_many_categories_are_asked_for() -> None:
    everything = [str(n) for n in range(1, 26)]
    assert GRADE.average_precision(everything[:20], set(everything)) == pytest.approx(1)
    assert GRADE.average_precision(everything[:10], set(everything)) == pytest.approx(0.5)
    assert GRADE.average_precision(["99", *everything[:1]], {"1"}) == pytest.approx(0.5)


def test_the_ceiling_is_the_score_of_what_is_really_there(small: Path) -> None:
    assert GRADE.ceiling(small) is None
    (small / "noise_free.csv").write_text("id,categories\nd,5\nc,3 9\nb,1 4\na,8\n")
    expected = {
        "a": 1 / 8,  # 8, then 1 2 3 4 5 6 7
        "b": (1 / 1 + 2 / 3) / 2,  # 1 4 2
        "c": (1 + 1 + 3 / 12) / 3,  # 3 9, then 1 2 4 5 6 7 8 10 11 12
        "d": 1.0,
    }
    assert GRADE.ceiling(small) == pytest.approx(sum(expected.values()) / 4)


GOOD = "id,categories\na,7\nb,1\nc,3\nd,5\n"
BAD = {
    "a missing row": ("id,categories\na,7\nb,1\nc,3\n", "1 missing, first: d"),
    "a repeated row": (GOOD + "a,7\n", "row ids repeat"),
    "an unknown row": (GOOD + "e,7\n", "1 unknown, first: e"),
    "another column": (GOOD.replace("categories", "labels"), "expected id, categories"),
    "an unknown category": (GOOD.replace("a,7", "a,7 31"), "id a: '31' is no id of category_key"),
    "a fraction": (GOOD.replace("a,7", "a,7.0"), "id a: '7.0' is no id"),
    "a word": (GOOD.replace("a,7", "a,nan"), "id a: 'nan' is no id"),
    "commas": (GOOD.replace("a,7", 'a,"7,8"'), "id a: '7,8' is no id"),
    "too many": (
        GOOD.replace("a,7", "a," + " ".join(map(str, range(1, 22)))), "21 categories, expected at"
    ),
    "twice the same": (GOOD.replace("a,7", "a,7 8 7"), "id a: a category is there twice"),
    "a huge list": (GOOD.replace("a,7", "a," + "7 " * 200_000), "not a UTF-8 CSV file"),
    "nothing": ("", "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_submissions_are_invalid_with_a_reason(small: Path, kind: str) -> None:
    text, reason = BAD[kind]
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        score(text, small)


def test_what_is_no_text_file_is_invalid(small: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    with pytest.raises(InvalidSubmission, match="not found"):
        GRADE.grade(outputs, small)
    (outputs / "submission.csv").write_bytes(b"id,categories\na,\xff\n")
    with pytest.raises(InvalidSubmission, match="not a UTF-8 CSV file"):
        GRADE.grade(outputs, small)
    (outputs / "submission.csv").unlink()
    (outputs / "submission.csv").symlink_to(small / "answers.csv")
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        GRADE.grade(outputs, small)


def test_the_format_is_checked_with_public_files_alone(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,width,height\na,40,40\nb,40,40\n")
    (tmp_path / "category_key.csv").write_text("id,name,supercat\n1,crab,Crab\n2,eel,Eel\n")
    submission = tmp_path / "submission.csv"
    submission.write_text("id,categories\nb,2 1\na,1\n")
    GRADE.check_format(submission, tmp_path)
    submission.write_text("id,categories\nb,2 3\na,1\n")
    with pytest.raises(InvalidSubmission, match="id b: '3' is no id"):
        GRADE.check_format(submission, tmp_path)
