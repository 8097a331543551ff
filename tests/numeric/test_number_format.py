"""How numbers are written for people."""

import re
from pathlib import Path

import pytest

import mlagentbench
from mlagentbench.numeric.intervals import Interval
from mlagentbench.numeric.number_format import (
    bytes_text,
    counted,
    dollars_text,
    duration_text,
    exact,
    fixed,
    interval_text,
    normalised_text,
    number_text,
    p_text,
    percent_interval_text,
    percent_text,
    signed,
    spread_text,
    tokens_text,
)

SOURCE = Path(mlagentbench.__file__).parent


def test_numbers_are_written_for_people() -> None:
    assert [tokens_text(value) for value in (None, 0, 999, 999.6, 12_345, 999_960, 3.2e6)] == [
        *("-", "0", "999", "1.00k", "12.3k", "1.00M", "3.20M")
    ]
    assert [duration_text(value) for value in (None, 1.04, 125, 7384)] == [
        *("-", "1.0 s", "2 min 05 s", "2 h 03 min")
    ]
    assert [p_text(value) for value in (0.0001, 0.0312, 0.5)] == ["< 0.001", "0.031", "0.50"]
    assert [dollars_text(value) for value in (None, 0.0, 0.0123, 1234.5)] == [
        *("-", "$0.00", "$0.012", "$1,234.50")
    ]
    assert [number_text(value) for value in (None, 39721.7, 0.10171, 0.0)] == [
        *("-", "39,722", "0.1017", "0.00")
    ]
    assert float(exact(0.1 + 0.2)) == 0.1 + 0.2


def test_numbers_that_a_program_printed_are_written_whatever_they_are() -> None:
    values = (float("nan"), float("inf"), -1e300, 12345678901234567890.0)
    assert [number_text(value) for value in values] == ["nan", "inf", "-1e+300", "1.235e+19"]


@pytest.mark.parametrize(
    ("share", "places", "text"),
    [
        (1 / 8, 0, "13"), (5 / 8, 0, "63"), (3 / 8, 0, "38"), (0.285, 0, "29"), (0.0625, 1, "6.3"),
        (-1 / 8, 0, "-13"), (-0.0004, 1, "0.0"), (-0.0, 1, "0.0"), (0.00049, 1, "0.0"),
        (1.0, 0, "100"), (None, 1, "-"),
    ],
)  # fmt: skip
def test_percentages_round_half_up_and_zero_has_no_sign(
    share: float | None, places: int, text: str
) -> None:
    assert percent_text(share, places) == text
    if share is not None:
        both = Interval(low=share, high=share)
        assert percent_interval_text(both, places) == f"[{text}, {text}]"


def test_other_numbers_round_alike() -> None:
    assert (fixed(0.125, 2), normalised_text(-0.0001), normalised_text(2.675)) == (
        *("0.13", "0.00", "2.68"),
    )
    assert interval_text(Interval(low=-0.001, high=0.125)) == "[0.00, 0.13]"
    assert [signed(value, 2) for value in (None, 0.125, -0.125, 0.001, -0.001, 0.0)] == [
        *("-", "+0.13", "-0.13", "0.00", "0.00", "0.00")
    ]


def test_a_spread_says_what_it_is() -> None:
    assert spread_text(1234.5678, 12.3, "SE") == "1,235 ± 12 SE"
    assert spread_text(52043.2, 0.0, "SD") == "52,043 ± 0 SD"
    assert spread_text(0.5, None, "SE") == "0.5000"
    assert spread_text(0.5, 0.125, "SE", places=2) == "0.50 ± 0.13 SE"
    assert spread_text(0.5, 0.125, None, places=2) == "0.50 ± 0.13"


def test_only_this_module_writes_a_spread() -> None:
    """A ± anywhere else explains one, escapes it or looks for one that an agent wrote."""
    explained = re.compile(r'± S[DE]: (the )?standard (deviation|error)|\\n± SE"')
    elsewhere = ("latex_tables.py", "statements.py", "validation_lines.py", "number_format.py")
    for file in (*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html")):
        if "suite" not in file.parts and file.name not in elsewhere:
            assert "±" not in explained.sub("", file.read_text()), file


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_000_000, "1.0 MB"),
        (2_500_000, "2.5 MB"),
        (7e16, "70,000.0 TB"),
    ],
)
def test_sizes_are_short(size: float, text: str) -> None:
    assert bytes_text(size) == text


def test_one_thing_and_several() -> None:
    assert [counted(number, "run") for number in (0, 1, 2, 1000)] == [
        *("0 runs", "1 run", "2 runs", "1,000 runs")
    ]
    assert counted(1, "reply", "replies") == "1 reply" and counted(2, "x", "xs") == "2 xs"
    assert counted(2, "reply", "replies") == "2 replies"
