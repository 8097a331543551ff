"""The task identify-contrails: the official tree, the generated scenes, the grader."""

import asyncio
import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tabular_tasks import Prepared, TaskModules

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import InvalidSubmission
from mlagentbench.tasks.data.progress import Silent
from mlagentbench.tasks.data.sources import gather
from mlagentbench.tasks.task import load_folder

CONTRAILS = TaskModules("identify-contrails")
SIDE, TIMES = 12, 8
OFFICIAL = {"train": 6, "validation": 5}
BAND_FILES = [f"band_{band:02d}.npy" for band in range(8, 17)]


def official_tree(root: Path) -> dict[str, dict[str, np.ndarray]]:
    """The official tree with few small records; returns their masks."""
    rng = np.random.default_rng(0)
    masks: dict[str, dict[str, np.ndarray]] = {}
    for part, count in OFFICIAL.items():
        records = [str(10**18 + int(n)) for n in rng.choice(10**12, size=count, replace=False)]
        masks[part] = {}
        for record in records:
            folder = root / part / record
            folder.mkdir(parents=True)
            for name in BAND_FILES:
                kelvins = rng.uniform(200, 310, size=(SIDE, SIDE, TIMES))
                np.save(folder / name, kelvins.astype(np.float32))
            mask = rng.random((SIDE, SIDE, 1)) < 0.1
            np.save(folder / "human_pixel_masks.npy", mask.astype(np.int32))
            np.save(folder / "human_individual_masks.npy", mask[..., None].astype(np.int32))
            masks[part][record] = mask[..., 0]
        listing = [{"record_id": record, "timestamp": 1.55e9, "row_min": 3.5} for record in records]
        (root / f"{part}_metadata.json").write_text(json.dumps(listing))
    return masks


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return CONTRAILS.prepare_mini(tmp_path_factory.mktemp("contrails"))


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Prepared]:
    directory = tmp_path_factory.mktemp("official")
    masks = official_tree(directory / "own")
    taken(directory / "own", directory / "raw")
    return masks, CONTRAILS.prepare_from(directory / "raw", directory)


def taken(directory: Path, raw: Path) -> None:
    """What `prepare --from` brings together."""
    raw.mkdir()
    task = load_folder(CONTRAILS.folder)
    asyncio.run(gather(task, raw, from_dir=directory, accept_unverified=False, progress=Silent()))


def read_rows(file: Path) -> dict[str, str]:
    with file.open() as handle:
        return dict(list(csv.reader(handle))[1:])


def as_csv(masks: dict[str, str]) -> str:
    return "\n".join(["record_id,encoded_pixels", *map(",".join, masks.items())]) + "\n"


def test_only_what_is_needed_is_taken(official: tuple[dict, Prepared]) -> None:
    files = {path.name for path in official[1].raw.rglob("*.npy")}
    assert files == {"band_11.npy", "band_14.npy", "band_15.npy", "human_pixel_masks.npy"}


def test_the_labelled_time_of_three_bands_is_public(official: tuple[dict, Prepared]) -> None:
    masks, prepared = official
    original = read_rows(prepared.private / "mapping.csv")
    assert sorted(original.values()) == sorted(masks["validation"])
    images = np.load(prepared.public / "test_images.npy")
    assert (images.shape, images.dtype) == ((OFFICIAL["validation"], SIDE, SIDE, 3), np.uint16)
    for row, record in original.items():
        for place, band in enumerate((11, 14, 15)):
            file = prepared.raw / "validation" / record / f"band_{band}.npy"
            kelvins = np.load(file)[..., 4]
            assert images[int(row), ..., place] / 100 == pytest.approx(kelvins, abs=0.0051)


def test_masks_stay_with_their_images(official: tuple[dict, Prepared]) -> None:
    masks, prepared = official
    original = read_rows(prepared.private / "mapping.csv")
    for row, runs in read_rows(prepared.private / "answers.csv").items():
        decoded = CONTRAILS.grade.decode(runs, (SIDE, SIDE), row)
        assert np.array_equal(decoded.reshape(SIDE, SIDE).T, masks["validation"][original[row]])
    shown = np.load(prepared.public / "train_masks.npy")
    images = np.load(prepared.public / "train_images.npy")
    for record, mask in masks["train"].items():
        image = CONTRAILS.prepare.read_image(prepared.raw / "train" / record)
        number = next(n for n, other in enumerate(images) if np.array_equal(other, image))
        assert np.array_equal(shown[number], mask)


def test_nothing_else_of_the_records_is_public(official: tuple[dict, Prepared]) -> None:
    masks, prepared = official
    assert sorted(file.name for file in prepared.public.iterdir()) == [
        "sample_submission.csv", "test_images.npy", "train_images.npy", "train_masks.npy",
        "training.json",
    ]  # fmt: skip
    everything = b"".join(file.read_bytes() for file in prepared.public.iterdir())
    assert not any(record.encode() in everything for part in masks.values() for record in part)
    assert b"timestamp" not in everything
    settings = json.loads((prepared.public / "training.json").read_text())
    assert settings["learning_rate"] == 1e-5 and settings["epochs"] == 1
    assert settings["class_weights"] == [0.57, 4.17]
    assert CONTRAILS.grade.ceiling(prepared.private) is None


@pytest.mark.parametrize(
    "name",
    ["train_metadata.json", "validation_metadata.json", "band_14.npy", "human_pixel_masks.npy"],
)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    official_tree(tmp_path / "own")
    for file in (tmp_path / "own").rglob(name):
        file.unlink()
    said = rf"{re.escape(name)} not found in|not found: \S+/{re.escape(name)}"
    with pytest.raises(UsageError, match=said):
        taken(tmp_path / "own", tmp_path / "raw")


def test_what_was_not_measured_is_zero(tmp_path: Path) -> None:
    for band in (11, 14, 15):
        kelvins = np.full((2, 2, TIMES), 280.004, dtype=np.float32)
        kelvins[0, 0], kelvins[1, 1] = np.nan, np.inf
        np.save(tmp_path / f"band_{band}.npy", kelvins)
    image = CONTRAILS.prepare.read_image(tmp_path)
    assert image[..., 1].tolist() == [[0, 28000], [28000, 0]]


@pytest.mark.slow
def test_mini_scenes_half_of_them_empty(mini: Prepared) -> None:
    masks = np.load(mini.public / "train_masks.npy")
    assert masks.shape == (300, 64, 64)
    assert np.load(mini.public / "test_images.npy").shape == (300, 64, 64, 3)
    assert 145 <= (masks.sum(axis=(1, 2)) > 0).sum() <= 150  # some contrails were overlooked
    assert 0.015 < masks.mean() < 0.05
    assert 0.8 < CONTRAILS.grade.ceiling(mini.private) < 0.95


def test_contrails_show_in_the_difference_only(mini: Prepared) -> None:
    images = np.load(mini.public / "train_images.npy").astype(float) / 100
    marked = np.load(mini.public / "train_masks.npy") > 0
    differences = images[..., 2] - images[..., 1]
    assert differences[~marked].mean() - differences[marked].mean() > 0.7
    with_contrail = marked.any(axis=(1, 2))
    for band in (0, 1):
        values = images[with_contrail][..., band]
        within = marked[with_contrail]
        assert abs(values[within].mean() - values[~within].mean()) < 0.15 * values.std()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(mini: Prepared, tmp_path: Path) -> None:
    assert CONTRAILS.prepare_mini(tmp_path / "same").files() == mini.files()


@pytest.mark.slow
def test_no_trivial_predictor_goes_far(mini: Prepared, tmp_path: Path) -> None:
    scores = {
        name: CONTRAILS.score(text, mini.private, tmp_path).score
        for name, text in CONTRAILS.trivial.predictors(mini.public).items()
    }
    assert scores["all_negative"] == 0
    assert 0.03 < scores["all_positive"] < 0.1
    assert 0.2 < scores["best_threshold"] < 0.45


def test_the_sample_submission_is_valid_and_empty(mini: Prepared) -> None:
    sample = mini.public / "sample_submission.csv"
    CONTRAILS.grade.check_format(sample, mini.public)
    assert set(read_rows(sample).values()) == {"-"}


def test_runs_go_down_the_columns() -> None:
    mask = np.zeros((4, 3), dtype=np.uint8)
    mask[1:3, 0] = mask[3, 1] = mask[0, 2] = 1
    assert CONTRAILS.prepare.encode(mask) == "2 2 8 2"
    assert CONTRAILS.trivial.encode(mask > 0) == "2 2 8 2"
    assert CONTRAILS.prepare.encode(np.zeros((4, 3))) == "-"
    assert CONTRAILS.prepare.encode(np.ones((4, 3))) == "1 12"
    decoded = CONTRAILS.grade.decode("2 2 8 2", (4, 3), "0")
    assert np.array_equal(decoded.reshape(3, 4).T, mask)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Answers for three images of 4 x 5 pixels: 4 marked, none, 6 marked."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text("record_id,encoded_pixels\n0,3 4\n1,-\n2,1 2 10 4\n")
    (private / "shape.json").write_text("[4, 5]")
    return private


def test_dice_of_all_pixels_together(small: Path, tmp_path: Path) -> None:
    right = {"2": "1 2 10 4", "0": "3 4", "1": "-"}
    assert CONTRAILS.score(as_csv(right), small, tmp_path / "outputs").score == 1
    guess = {"0": "5 4", "1": "-", "2": "12 1 13 1"}
    grade = CONTRAILS.score(as_csv(guess), small, tmp_path / "outputs")
    assert grade.score == pytest.approx(2 * (2 + 2) / ((4 + 2) + (4 + 6)))
    means = (2 * 2 / 8 + 1 + 2 * 2 / 8) / 3
    assert grade.extra["mean_dice_of_records"] == pytest.approx(means)
    assert grade.extra["precision"] == pytest.approx(4 / 6)
    assert grade.extra["recall"] == pytest.approx(4 / 10)
    assert grade.extra["n"] == 3
    assert grade.extra["standard_error"] == pytest.approx(0)  # each image has the same Dice


def test_marking_nothing_is_worth_nothing(small: Path, tmp_path: Path) -> None:
    nothing = {"0": "-", "1": "-", "2": "-"}
    grade = CONTRAILS.score(as_csv(nothing), small, tmp_path / "outputs")
    assert grade.score == 0 and grade.extra["precision"] is None


GOOD = as_csv({"0": "3 4", "1": "-", "2": "1 2 10 4"})
BAD = {
    "a missing row": (GOOD.replace("1,-\n", ""), "1 missing, first: 1"),
    "a repeated row": (GOOD + "1,-\n", "row ids repeat"),
    "an unknown row": (GOOD + "3,-\n", "1 unknown, first: 3"),
    "another column": (
        GOOD.replace("encoded_pixels", "mask"),
        "expected record_id, encoded_pixels",
    ),
    "an empty cell": (GOOD.replace("1,-", "1,"), "record 1: encoded_pixels '' is neither '-' nor"),
    "text": (GOOD.replace("3 4", "many"), "record 0: encoded_pixels 'many' is neither"),
    "a fraction": (GOOD.replace("3 4", "3.0 4"), "'3.0 4' is neither"),
    "a negative one": (GOOD.replace("3 4", "-3 4"), "'-3 4' is neither"),
    "other digits": (GOOD.replace("3 4", "٣ ٤"), "is neither"),
    "half a pair": (GOOD.replace("3 4", "3 4 9"), "has 3 numbers; expected pairs"),
    "from 0": (GOOD.replace("3 4", "0 4"), "the run 0 4 is empty, or begins before"),
    "an empty run": (GOOD.replace("3 4", "3 0"), "the run 3 0 is empty"),
    "an overlap": (GOOD.replace("3 4", "3 4 6 1"), "the run 6 1 is empty, or begins before"),
    "falling runs": (GOOD.replace("3 4", "9 1 3 1"), "the run 3 1 is empty, or begins before"),
    "beyond the end": (GOOD.replace("3 4", "18 4"), "the run 18 4 ends beyond 20"),
    "a huge one": (GOOD.replace("3 4", "3 999999999"), "ends beyond 20"),
    "a giant": (GOOD.replace("3 4", "3 " + "9" * 5000), "is neither"),
    "nothing": ("", "is empty"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_submissions_are_invalid_with_a_reason(small: Path, tmp_path: Path, kind: str) -> None:
    text, reason = BAD[kind]
    with pytest.raises(InvalidSubmission, match=re.escape(reason)):
        CONTRAILS.score(text, small, tmp_path / "outputs")


def test_what_is_no_file_of_text_is_invalid(small: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    file = outputs / "submission.csv"
    with pytest.raises(InvalidSubmission, match="not found"):
        CONTRAILS.grade.grade(outputs, small)
    file.mkdir()
    with pytest.raises(InvalidSubmission, match="not a regular file"):
        CONTRAILS.grade.grade(outputs, small)
    file.rmdir()
    file.write_bytes(b"record_id,encoded_pixels\n\xff,-\n")
    with pytest.raises(InvalidSubmission, match="not a UTF-8 CSV file"):
        CONTRAILS.grade.grade(outputs, small)


def test_a_part_can_be_held_back_for_feedback(mini: Prepared, tmp_path: Path) -> None:
    held = Prepared(tmp_path)
    CONTRAILS.prepare.hold_out(mini.public, held.public, held.private, np.random.default_rng(1))
    kept, shown = (np.load(held.public / f"{name}_images.npy") for name in ("train", "validation"))
    assert (len(kept), len(shown)) == (240, 60)
    masks = {
        image.tobytes(): mask
        for image, mask in zip(
            np.load(mini.public / "train_images.npy"),
            np.load(mini.public / "train_masks.npy"),
            strict=True,
        )
    }
    kept_masks = np.load(held.public / "train_masks.npy")
    assert all(np.array_equal(masks[i.tobytes()], m) for i, m in zip(kept, kept_masks, strict=True))
    assert {image.tobytes() for image in kept}.isdisjoint(image.tobytes() for image in shown)
    encode = CONTRAILS.prepare.encode
    right = {str(row): encode(masks[image.tobytes()]) for row, image in enumerate(shown)}
    assert CONTRAILS.score(as_csv(right), held.private, tmp_path / "outputs").score == 1
