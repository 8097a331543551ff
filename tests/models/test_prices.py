"""A budget in dollars needs prices that can be read, one for each model."""

from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.models.prices import read_prices

PRICE = '{"input": 1, "output": 2, "input_cache_write": 1, "input_cache_read": 0.1}'


def test_prices_are_read_from_json_and_yaml(tmp_path: Path) -> None:
    file = tmp_path / "prices"
    file.write_text(f'{{"openai/x": {PRICE}}}')
    assert read_prices(file, {"openai/x"})["openai/x"].output == 2
    file.write_text(f"openai/x: {PRICE}\n")
    assert read_prices(file, {"openai/x"})["openai/x"].input == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"openai/x": {PRICE}}}', "no price for a/model"),
        ("{", "neither JSON nor YAML"),
        ('{"openai/x": 3}', "openai/x"),
        ('{"openai/x": {"input": "much"}}', "openai/x.input"),
    ],
)
def test_what_is_wrong_with_prices_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_prices(file, {"a/model"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_prices(tmp_path / "prices.json", set())
