"""Dice of all pixels of all records together; the mean of the records' own Dice beside it."""

import json
import re
from pathlib import Path

import numpy as np
from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, read_table, require_file, rows_in_order

FILE = "submission.csv"
COLUMNS = ["record_id", "encoded_pixels"]
EMPTY = "-"
MAX_BYTES = 200_000_000


def grade(outputs: Path, private: Path) -> Grade:
    shape = read_shape(private)
    answers = read_table(private / "answers.csv", COLUMNS)
    submitted = read_runs(outputs / FILE, answers["record_id"])
    counts = []
    for record, runs, answer in zip(
        answers["record_id"], submitted, answers["encoded_pixels"], strict=True
    ):
        guess, truth = decode(runs, shape, record), decode(answer, shape, record)
        counts.append((int((guess & truth).sum()), int(guess.sum()), int(truth.sum())))
    shared, guessed, true = np.array(counts).T
    return Grade(
        dice(shared.sum(), guessed.sum(), true.sum()),
        extra={
            "n": len(counts),
            "standard_error": standard_error(shared, guessed + true),
            "test_set_interval": resampled_interval(
                answers["record_id"], 2 * shared, guessed + true
            ),
            "mean_dice_of_records": float(np.mean([dice(*row) for row in counts])),
            "precision": float(shared.sum() / guessed.sum()) if guessed.sum() else None,
            "recall": float(shared.sum() / true.sum()) if true.sum() else None,
        },
    )


def check_format(submission: Path, public: Path) -> None:
    images = np.load(public / "test_images.npy", mmap_mode="r", allow_pickle=False)
    records = [str(row) for row in range(len(images))]
    for record, runs in zip(records, read_runs(submission, records), strict=True):
        decode(runs, images.shape[1:3], record)


def ceiling(private: Path) -> float | None:
    """The Dice of whoever knows every contrail, where that is known."""
    if not (private / "true_masks.csv").is_file():
        return None
    shape = read_shape(private)
    tables = (read_table(private / name, COLUMNS) for name in ("answers.csv", "true_masks.csv"))
    drawn, true = (
        np.array([decode(runs, shape, "") for runs in table["encoded_pixels"]]) for table in tables
    )
    return dice((drawn & true).sum(), drawn.sum(), true.sum())


def dice(shared: float, guessed: float, true: float) -> float:
    """Twice the shared pixels over all marked ones; 1 when neither marks any."""
    return float(2 * shared / (guessed + true)) if guessed + true else 1.0


def standard_error(shared: np.ndarray, marked: np.ndarray) -> float | None:
    """Of the global Dice, a ratio of sums over records, each of which is one observation."""
    if len(shared) < 2 or not marked.sum():
        return None
    residuals = 2 * shared - dice(shared.sum(), marked.sum(), 0) * marked
    correction = len(shared) / (len(shared) - 1)
    return float(np.sqrt(correction * (residuals**2).sum()) / marked.sum())


def read_shape(private: Path) -> tuple[int, int]:
    height, width = json.loads((private / "shape.json").read_text())
    return height, width


def read_runs(file: Path, records: list[str]) -> list[str]:
    """The encoded masks, in the order of the records."""
    require_file(file, MAX_BYTES)
    table = read_table(file, COLUMNS, len(records))
    order = rows_in_order(table["record_id"], records)
    return [table["encoded_pixels"][row] for row in order]


def decode(runs: str, shape: tuple[int, ...], record: str) -> np.ndarray:
    """The mask, flat and down the columns; InvalidSubmission says what is wrong with the runs."""
    pixels = shape[0] * shape[1]
    mask = np.zeros(pixels, dtype=bool)
    if runs.strip() == EMPTY:
        return mask
    where = f"record {record}: encoded_pixels"
    if not re.fullmatch(r"\s*\d{1,9}(\s+\d{1,9})*\s*", runs, flags=re.ASCII):
        raise InvalidSubmission(
            f"{where} {runs[:30]!r} is neither {EMPTY!r} nor a list of whole numbers"
        )
    numbers = [int(number) for number in runs.split()]
    if len(numbers) % 2:
        raise InvalidSubmission(f"{where} has {len(numbers)} numbers; expected pairs")
    end = 0
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        if start <= end or length < 1:
            raise InvalidSubmission(
                f"{where}: the run {start} {length} is empty, or begins before the last one's end"
            )
        end = start + length - 1
        if end > pixels:
            raise InvalidSubmission(f"{where}: the run {start} {length} ends beyond {pixels}")
        mask[start - 1 : end] = True
    return mask
