"""Which draws `--draw` asks for, and the seeds that they have."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.launch.request import SuiteRequest, read_settings
from mlagentbench.runs.fresh_key import fresh_key
from mlagentbench.tasks.draws import (
    FreshKey,
    all_draws,
    disclosed_secret,
    draw_list_text,
    draw_of,
    draw_seed,
    draws_text,
    fresh_draws,
    is_sample,
    is_secret,
    read_policy,
    table_text,
)
from mlagentbench.tasks.task import load_task


def test_a_range_gives_each_run_its_own_draw_and_begins_again() -> None:
    policy = read_policy("100..103", "mini")
    assert [draw_of(policy, epoch) for epoch in range(1, 7)] == [
        "100", "101", "102", "103", "100", "101",
    ]  # fmt: skip
    assert all_draws(policy) == ["100", "101", "102", "103"]
    assert all_draws("beacon-7") == ["beacon-7"] and draw_of("beacon-7", 3) == "beacon-7"
    assert is_sample(policy) and not is_sample("5..5") and not is_sample("100")
    assert read_policy("007..9", "mini") == "7..9"
    assert read_policy("100..100", "mini") == "100"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a label of letters"),
        ("a b", "a label of letters"),
        ("../x", "two numbers"),
        ("1..", "two numbers"),
        ("9..1", "the smaller number first"),
        ("0..99999", "1 to 10,000 draws"),
        ("public~1", "a label of letters"),
        ("Secret", "secret is a reserved word"),
        ("PUBLIC", "public is a reserved word"),
    ],
)
def test_wrong_policies_are_refused_with_their_name(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        read_policy(text, "mini")
    assert str(raised.value).startswith(f"--draw {text}: ")


def test_the_full_tier_has_no_draws() -> None:
    assert read_policy("public", "full") == "public"
    with pytest.raises(UsageError, match=r"the full tier has one data set.*; leave out -T draw"):
        read_settings({"tier": "full", "draw": "100..103"}, lambda name: f"-T {name}")
    assert read_settings({"draw": 100}, lambda name: f"-T {name}").draw == "100"


def test_what_inspect_reads_as_something_else_than_text() -> None:
    def read(value: object) -> str:
        return read_settings({"draw": value}, lambda name: f"-T {name}").draw

    assert read(date(2026, 11, 17)) == "2026-11-17"
    for value in (1.5, True, datetime(2026, 11, 17, tzinfo=UTC)):
        with pytest.raises(UsageError, match="quote it twice, such as -T 'draw="):
            read(value)


def test_an_empty_draw_is_not_the_public_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--draw: is empty; expected public"):
        SuiteRequest.read(tasks="house-price", agents="nop", out=tmp_path, draw="")


def test_seeds_differ_between_tasks_tiers_and_draws() -> None:
    house, ship = load_task("house-price"), load_task("spaceship-titanic")
    seeds = [
        draw_seed(house, "mini", "public"),
        draw_seed(house, "mini", "100"),
        draw_seed(house, "mini", "101"),
        draw_seed(ship, "mini", "100"),
        draw_seed(house, "mini", "secret", secret=7),
        draw_seed(house, "full", "public~1"),
        draw_seed(house, "full", "public~2"),
    ]
    assert len(set(seeds)) == len(seeds) and max(seeds) < 2**128
    assert seeds[4] == 7


def test_seeds_of_fresh_draws_follow_from_a_key_that_cannot_be_guessed() -> None:
    house, ship, one, other = (
        load_task("house-price"), load_task("spaceship-titanic"),
        FreshKey(value="1" * 32), FreshKey(value="2" * 32),
    )  # fmt: skip
    found = {
        (task.id, draw): draw_seed(task, "mini", draw, key=key)
        for task in (house, ship)
        for key in (one, other)
        for given in ("public", "100", "secret:12ab")
        for draw in fresh_draws(given, 2, first=0, key=key)
    }
    assert len(set(found.values())) == len(found) == 24
    [name] = fresh_draws("100", 1, key=one)
    assert name == f"100~1-{one.hash[:8]}"
    assert one.value not in name and one.value not in one.hash
    for draw, key in ((name, None), (name, other), ("100~1", one), (f"secret~1-{one.short}", one)):
        with pytest.raises(ValueError, match="not a fresh draw of a disclosed draw and this key"):
            draw_seed(house, "mini", draw, key=key)


def test_all_runs_of_an_out_have_the_same_key(tmp_path: Path) -> None:
    key = fresh_key(tmp_path)
    assert fresh_key(tmp_path) == key == fresh_key(tmp_path, key.hash)
    assert (tmp_path / "fresh-draws.key").stat().st_mode & 0o777 == 0o600
    assert len(key.value) == 32 and fresh_key(tmp_path / "other") != key
    with pytest.raises(UsageError, match=r"is not the key that runs below .* disclosed when"):
        fresh_key(tmp_path / "other", key.hash)
    with pytest.raises(UsageError, match="not found, and the fresh draws of the runs below"):
        fresh_key(tmp_path / "moved", key.hash)


@pytest.mark.parametrize("contents", [b"", b"0123", b"\xff\xfe", b"g" * 32, b"0" * 33])
def test_a_key_that_could_be_guessed_is_refused(contents: bytes, tmp_path: Path) -> None:
    (tmp_path / "fresh-draws.key").write_bytes(contents)
    with pytest.raises(UsageError, match=r"fresh-draws\.key: expected 32 hexadecimal digits"):
        fresh_key(tmp_path)


def test_names_for_people() -> None:
    hidden = disclosed_secret(7)
    assert is_secret(hidden) and is_secret(f"{hidden}~2") and hidden != "7"
    assert table_text("public") == "public draw: for development"
    assert table_text(hidden) == "secret draw" and table_text("1..4") == "draws 1..4"
    assert draws_text("x") == "draw x"
    assert draw_list_text(["7", "8", "9", "12", "x"]) == "7..9, 12, x"
