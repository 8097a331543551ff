"""Colours, texts and positions in the charts of the site."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import runs_of
from report_records import AGENTS, TASKS, made_summary

from mlagentbench.grading.rungs import RUNGS
from mlagentbench.records import Rung
from mlagentbench.report.site.charts import (
    DotRow,
    curve_chart,
    dot_rows_chart,
    mode_chart,
    nice_ticks,
    trade_off_chart,
)
from mlagentbench.report.site.heat_colours import (
    BOTTOM,
    SCHEMES,
    TOP,
    contrast,
    heat_class,
    shade_colours,
)
from mlagentbench.report.site.pages.text_diffs import compare, cut
from mlagentbench.report.site.rung_chart import (
    RungRow,
    hatch,
    is_hatched,
    rung_chart,
    rung_colours,
    rung_picture,
)
from mlagentbench.report.site.series import (
    Curve,
    Point,
    TradeOff,
    mode_counts,
    profiles,
    score_curve,
)
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.untrusted_text import clip, preview, visible


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda one: one.name)
def test_text_can_be_read_on_every_shade(scheme) -> None:
    for shade in range(BOTTOM, TOP + 1):
        background, text = shade_colours(scheme, shade)
        assert contrast(background, text) >= 4.5, (scheme.name, shade, background, text)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda one: one.name)
def test_rungs_can_be_told_apart_without_colours(scheme) -> None:
    grounds = []
    for rung in RUNGS:
        ground, text = rung_colours(scheme, rung)
        assert contrast(ground, text) >= 4.5, (scheme.name, rung)
        grounds.append(ground)
    for one, other in pairwise(grounds[1:]):
        assert contrast(one, other) >= 1.3, (scheme.name, one, other)
    brightness = [contrast(one, "#000000") for one in grounds[1:]]
    assert brightness == sorted(brightness, reverse=scheme.name == "light")
    assert [rung for rung in RUNGS if is_hatched(rung)] == ["invalid"]


def test_bars_of_rungs_are_stacked_from_the_highest() -> None:
    shares: dict[Rung, float] = dict.fromkeys(RUNGS, 0.0)
    shares |= {"near the ceiling": 0.25, "success": 0.5, "invalid": 0.25}
    chart = rung_chart([RungRow("react", shares)], "share of runs", width=440.0)
    assert [RUNGS[bar.style] for bar in chart.bars] == ["near the ceiling", "success", "invalid"]
    assert [bar.width for bar in chart.bars] == pytest.approx([100, 200, 100])
    assert [bar.x for bar in chart.bars] == pytest.approx([20, 120, 320])
    assert [bool(bar.hatch) for bar in chart.bars] == [False, False, True]
    assert chart.bars[1].name == "react: success 50.0 %"
    assert [key.text for key in chart.keys] == list(reversed(RUNGS))
    assert "table below" in chart.name


def test_without_known_rungs_there_is_no_picture() -> None:
    assert rung_picture([RungRow("react", {})], "share of runs") is None


def test_a_hatch_stays_in_its_bar() -> None:
    numbers = [float(one) for one in re.findall(r"[\d.]+", hatch(10, 20, 37, 24))]
    assert all(10 <= x <= 47 for x in numbers[::2])
    assert all(20 <= y <= 44 for y in numbers[1::2])


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("share", "name"),
    [
        (0.0, "heat-0"),
        (0.96, "heat-10"),
        (7.0, "heat-10"),
        (-0.2, "heat-below-2"),
        (-9.0, "heat-below-5"),
        (None, "heat-none"),
    ],
)
def test_shades_end_at_both_ends(share: float | None, name: str) -> None:
    assert heat_class(share) == name


@given(st.text(st.characters(), max_size=60))
def test_nothing_stays_unseen(text: str) -> None:
    shown = visible(text)
    assert not any(
        (ord(sign) < 0x20 and sign not in "\n\t") or 0x7F <= ord(sign) < 0xA0 for sign in shown
    )
    shown.encode()


@given(st.text(max_size=3000), st.integers(min_value=30, max_value=500))
def test_a_cut_text_says_exactly_how_much_is_left_out(text: str, most: int) -> None:
    cut_text = clip(text, most, "there")
    if len(text) <= most:
        assert cut_text.head == visible(text)
        assert cut_text.left_out == 0
    else:
        assert cut_text.left_out > 0
        assert cut_text.where == "there"
        end = text.find(cut_text.tail) if visible(text) == text else -1
        if end >= 0 and visible(text) == text:
            assert text.startswith(cut_text.head)
            assert text.endswith(cut_text.tail)
            assert len(cut_text.head) + cut_text.left_out + len(cut_text.tail) == len(text)


def test_a_preview_is_one_line() -> None:
    assert preview("a\n\n b\tc") == "a b c"
    assert len(preview("word " * 200)) <= 160
    assert preview("some words are cut", 12) == "some words…"
    assert preview("https://a.long.address/of/a/page", 12) == "https://a.l…"
    assert preview("just fitting", 12) == "just fitting"


def test_a_difference_has_signs_and_can_be_cut() -> None:
    before = [f"line {n}" for n in range(40)]
    after = [*before[:20], "new", *before[21:]]
    blocks = compare(before, after)
    text = "".join(block.text for block in blocks)
    assert "- line 20\n+ new\n" in text
    assert "line 5\n" not in text
    shown, left_out = cut(blocks, 3)
    assert sum(block.text.count("\n") for block in shown) == 3
    assert left_out == text.count("\n") - 3


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_inside(low: float, length: float) -> None:
    ticks = nice_ticks(low, low + length)
    assert 2 <= len(ticks) <= 9
    assert all(low - 1e-6 * length <= tick <= low + length + 1e-6 * length for tick in ticks)


def test_a_curve_holds_its_value_until_the_next_point() -> None:
    curve = Curve("one", (Point(0, 0), Point(10, 1)))
    [line] = curve_chart("name", [curve], "x", "y", start=0.0).lines
    start, _, rest = line.d.partition("H")
    across, _, up = rest.partition("V")
    left, bottom = map(float, start[1:].split())
    assert float(across) > left
    assert float(up) < bottom


def test_dots_lie_where_their_values_are() -> None:
    rows = [DotRow("a", (1.0, 3.0)), DotRow("b", (2.0,))]
    chart = dot_rows_chart("name", rows, "x", [(2.0, "bar")])
    first, third, second = chart.dots
    [rule] = chart.rules
    assert first.x < second.x < third.x
    assert second.x == pytest.approx(rule.at)
    assert first.y == third.y != second.y


def test_a_profile_falls_exactly_behind_each_score() -> None:
    """Also between the twentieths of the scale, and to the share of runs beyond the window."""
    runs = runs_of("react", {"a": [-3.0, 0.51], "b": [0.52, 1.7]})
    [leaderboard] = leaderboards(cell_statistics(runs))
    [curve] = profiles(leaderboard)
    corners = [(-0.5, 0.75), (0.51, 0.5), (0.52, 0.25), (1.5, 0.25)]
    assert [(point.x, point.y) for point in curve.points] == corners


def test_agents_without_tokens_stand_apart() -> None:
    points = [
        TradeOff("oracle", 0.0, 1.0, None),
        TradeOff("cheap", 2e3, 0.5, None),
        TradeOff("dear", 2e6, 0.5, None),
    ]
    chart = trade_off_chart(points)
    assert chart.x_ticks[0].text == "none"
    assert chart.dots[0].x < chart.dots[1].x < chart.dots[2].x <= chart.right_edge


def test_bars_add_up_to_the_unsuccessful_runs() -> None:
    summaries = [made_summary(TASKS[0], AGENTS[6], epoch) for epoch in range(1, 9)]
    [counts] = mode_counts(summaries)
    assert counts.unsuccessful == sum(count for _, count in counts.first) > 4
    chart = mode_chart([counts])
    share = sum(bar.width for bar in chart.bars) / (chart.right_edge - chart.left)
    assert share == pytest.approx(counts.unsuccessful / 8)


def test_a_score_curve_follows_what_was_used() -> None:
    summary = made_summary(TASKS[0], AGENTS[5], 1)
    by_tokens = score_curve(summary, "tokens")
    assert by_tokens is not None
    assert [point.x for point in by_tokens.points] == [one.tokens for one in summary.points]
    assert [point.y for point in by_tokens.points] == [one.normalised for one in summary.points]
