"""What a run may use: one table of limits, and the amounts that one run has of them.

A row of LIMITS is all that a limit needs. Its name makes the option --max-NAME, the setting
max_NAME and the outcome of runs that used it up; budget, disclosure, resuming, the live display
and what agents are told follow from its fields and methods.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ConfigDict, RootModel, field_validator, model_serializer

from mlagentbench.errors import RunEnded, UsageError
from mlagentbench.plugins import Registry
from mlagentbench.records import Json, Usage
from mlagentbench.tasks.spec import parse_bytes, parse_seconds


@dataclass(frozen=True)
class Limit:
    """Something that a run may use only so much of, such as steps."""

    name: str
    description: str
    """The help of its option."""
    unit: str
    """A plural: "steps"."""
    counted: Callable[[Usage], float]
    """How much of it a run has used."""
    whole: bool = True
    """Whether its amounts are whole numbers."""
    metavar: str = "N"
    spent_by_models: bool = False
    """Whether the replies of models use it, so that it can run out within a step."""
    needs_prices: bool = False
    default: float | None = None
    """What holds where a run sets no amount. It neither shows nor distinguishes runs."""

    @property
    def setting(self) -> str:
        return f"max_{self.name}"

    @property
    def option(self) -> str:
        return f"--{self.setting.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The environment variable that tells in-sandbox agents what is left."""
        return f"{self.unit.replace(' ', '_').upper()}_LEFT"

    def read(self, value: Json) -> float:
        """An amount as a person gives it; ValueError says what is wrong with it."""
        try:
            amount = float(value)
        except (TypeError, ValueError):
            amount = math.inf
        if amount == math.inf or (self.whole and amount != amount // 1):
            raise ValueError(f"it should be a {'whole ' if self.whole else ''}number")
        if not amount > 0:
            raise ValueError("it should be greater than 0")
        return int(amount) if self.whole else amount

    def number(self, amount: float) -> str:
        """An amount of the remaining budget, without the unit."""
        return f"{amount:,}"

    def text(self, amount: float) -> str:
        """An amount of the remaining budget, with the unit."""
        return f"{self.number(amount)} {self.unit}"

    def stated(self, amount: float) -> str:
        """The limit itself, as results disclose it."""
        return self.text(amount)

    def used_up(self, amount: float) -> str:
        """Why a run has ended that used all of it."""
        return f"all {amount} {self.unit} are used"

    def plain(self, amount: float) -> str:
        """An amount for programs."""
        return f"{amount}"


class StepLimit(Limit):
    """Steps are few."""

    def number(self, amount: float) -> str:
        return f"{amount}"


class TimeLimit(Limit):
    """Seconds, which people give and read in larger units."""

    def read(self, value: Json) -> float:
        return super().read(parse_seconds(value) if isinstance(value, str) else value)

    def number(self, amount: float) -> str:
        return duration(amount)

    def text(self, amount: float) -> str:
        return duration(amount)

    def stated(self, amount: float) -> str:
        for unit, size in (("h", 3600), ("min", 60)):
            if amount >= size:
                return f"{amount / size:g} {unit}"
        return f"{amount:g} s"

    def used_up(self, amount: float) -> str:
        return f"the time of {amount:g} s is used up"

    def plain(self, amount: float) -> str:
        return f"{amount:.0f}"


class CostLimit(Limit):
    """Money."""

    def number(self, amount: float) -> str:
        return f"${amount:.2f}"

    def text(self, amount: float) -> str:
        return self.number(amount)

    def stated(self, amount: float) -> str:
        return f"${amount:g}"

    def used_up(self, amount: float) -> str:
        return f"the cost of {amount:g} dollars is used up"

    def plain(self, amount: float) -> str:
        return f"{amount:.4f}"


class StorageLimit(Limit):
    """Bytes, which people give and read in larger units."""

    def read(self, value: Json) -> float:
        return super().read(parse_bytes(value) if isinstance(value, str) else value)

    def number(self, amount: float) -> str:
        return f"{amount / 1e9:.1f} GB"

    def text(self, amount: float) -> str:
        return f"{self.number(amount)} of storage"

    def stated(self, amount: float) -> str:
        return f"{amount / 1e9:g} GB of storage"

    def used_up(self, amount: float) -> str:
        return f"all {self.stated(amount)} are used"


LIMITS = Registry(
    "limit",
    StepLimit("steps", "Actions per run.", "steps", lambda used: used.steps),
    TimeLimit(
        "time",
        "Time per run, e.g. 30m or 5h.",
        "seconds",
        lambda used: used.seconds,
        whole=False,
        metavar="TIME",
    ),
    Limit(
        "tokens",
        "Tokens per run, of all models together.",
        "tokens",
        lambda used: used.input_tokens + used.output_tokens,
        spent_by_models=True,
    ),
    CostLimit(
        "cost",
        "Dollars per run; needs --prices.",
        "dollars",
        lambda used: used.cost or 0.0,
        whole=False,
        metavar="DOLLARS",
        spent_by_models=True,
        needs_prices=True,
    ),
    StorageLimit(
        "storage",
        "Disk space per run for snapshots, outputs and journal, e.g. 10GB; 50GB unless given.",
        "bytes",
        lambda used: used.stored,
        metavar="SIZE",
        default=50e9,
    ),
)
ALWAYS_WRITTEN = ("steps", "time", "tokens", "cost")
"""Written even where they are not set, as null: the hash of a run's settings covers them. A limit
that is added later is written only where it is set, so that the hashes of other runs stay."""


class BudgetLimits(RootModel[dict[str, int | float]]):
    """What a run may use, by the names of LIMITS; what has no amount is not limited."""

    model_config = ConfigDict(frozen=True)

    root: dict[str, int | float] = {}

    if TYPE_CHECKING:

        def __init__(self, root: Mapping[str, Json] = ..., /, **amounts: float | None) -> None: ...

    @field_validator("root", mode="before")
    @classmethod
    def _known(cls, values: Mapping[str, Json]) -> dict[str, int | float]:
        """The amounts in the order of the table, each of its limit's type."""
        given = {name: value for name, value in values.items() if value is not None}
        for name in given:
            LIMITS.find(name, "limits")
        amounts = {}
        for name, limit in LIMITS.items():
            if name in given:
                amounts[name] = int(given[name]) if limit.whole else float(given[name])
                if not 0 <= amounts[name] < math.inf:
                    raise ValueError(f"{name}: it should not be negative")
        return amounts

    @model_serializer
    def _written(self) -> dict[str, int | float | None]:
        return {**dict.fromkeys(ALWAYS_WRITTEN), **self.root}

    def get(self, name: str) -> int | float | None:
        """The limit of this name; None if it is not set."""
        return self.root.get(name)

    def items(self) -> Iterable[tuple[Limit, int | float]]:
        """The limits that are set, in the order of the table."""
        return [(LIMITS[name], amount) for name, amount in self.root.items()]

    def with_amounts(self, amounts: "BudgetLimits") -> "BudgetLimits":
        """These limits, with other amounts for some of them."""
        return BudgetLimits({**self.root, **amounts.root})

    def left(self, used: Usage) -> "BudgetLimits":
        """What is left of each limit after this usage, never below 0."""
        left = {limit.name: amount - limit.counted(used) for limit, amount in self.items()}
        return BudgetLimits({name: max(0, amount) for name, amount in left.items()})

    def used_up(self, used: Usage, by_models: bool = False) -> RunEnded | None:
        """How a run of this usage ends, by the first limit of the table that is used up.

        With `by_models`, only what models spend counts.
        """
        for name, limit in LIMITS.items():
            amount = self.root.get(name, limit.default)
            if amount is None or (by_models and not limit.spent_by_models):
                continue
            if limit.counted(used) >= amount:
                return RunEnded(name, limit.used_up(amount))
        return None


def read_limits(settings: Mapping[str, Json], option_of: Callable[[str], str]) -> BudgetLimits:
    """The limits among settings that a person gave, as max_NAME; a UsageError names a wrong one.

    `option_of` gives the option of a setting.
    """
    amounts = {}
    for name, limit in LIMITS.items():
        value = settings.get(limit.setting)
        if value is not None:
            try:
                amounts[name] = limit.read(value)
            except ValueError as error:
                raise UsageError(f"{option_of(limit.setting)} {value}: {error}") from error
    return BudgetLimits(amounts)


def duration(seconds: float) -> str:
    """A time in two units: "4 h 0 min"."""
    total = int(seconds)
    if total >= 3600:
        return f"{total // 3600} h {total // 60 % 60} min"
    return f"{total // 60} min {total % 60} s" if total >= 60 else f"{total} s"
