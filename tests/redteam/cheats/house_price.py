"""Prices without a model."""

from cheats.given import WIDE_DIGITS, Files, Given, looked_up, read, table

HEADER = ("Id", "SalePrice")


def price_of_the_nearest_id(given: Given) -> Files:
    """Ids may follow the order of the original file, and with it the neighbourhoods."""
    known = [(float(row["Id"]), row["SalePrice"]) for row in read(given, "train.csv")]
    ids = [row["Id"] for row in read(given, "test.csv")]
    return table(HEADER, zip(ids, looked_up(known, map(float, ids)), strict=True))


def price_of_the_most_similar_lot(given: Given) -> Files:
    """A test house may be a training house that was sold twice: the same lot has the same price."""
    known = [(float(row["LotArea"]), row["SalePrice"]) for row in read(given, "train.csv")]
    houses = read(given, "test.csv")
    prices = looked_up(known, [float(row["LotArea"]) for row in houses])
    return table(HEADER, [(row["Id"], price) for row, price in zip(houses, prices, strict=True)])


def every_house_twice_in_wide_digits(given: Given) -> Files:
    """A low and a high price for each house, whose second id is written in other digits."""
    ids = [row["Id"] for row in read(given, "test.csv")]
    low = [(one, 100_000) for one in ids]
    return table(HEADER, low + [(one.translate(WIDE_DIGITS), 250_000) for one in ids])


def prices_beyond_all_numbers(given: Given) -> Files:
    """The sum of such errors is no number, and no number is smaller than the bar."""
    return table(HEADER, [(row["Id"], "1e308") for row in read(given, "test.csv")])


CHEATS = (
    price_of_the_nearest_id,
    price_of_the_most_similar_lot,
    every_house_twice_in_wide_digits,
    prices_beyond_all_numbers,
)
