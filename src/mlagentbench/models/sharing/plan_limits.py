"""What all runs of a plan may use together: OUT/plans/HASH/limits.json.

The command that asks for a plan writes it, and every worker reads it before each model call. It is
no part of the plan, nor of a run's directory: the same command with a higher cap continues the
same runs.
"""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import open_regular, write_atomically
from mlagentbench.records import Record
from mlagentbench.runs.lease import times_from_environment
from mlagentbench.tasks.spec import parse_seconds

FILE = "limits.json"
DEFAULT_OUTAGE = 24 * 3600.0
"""Seconds for which runs wait for a provider that does not answer."""
COMPATIBLE = "openai-api"
"""Inspect's provider of every OpenAI-compatible server; the part after it names the server."""


class PlanLimits(Record):
    """The limits that the workers of a plan keep together."""

    spend: float | None = None
    """Dollars for all models of all runs; None is no cap."""
    rates: dict[str, int] = {}
    """The most calls a minute, by provider."""
    outage: float = DEFAULT_OUTAGE
    """Seconds for which runs wait for a provider; with 0 each call is retried alone."""

    def write(self, directory: Path) -> None:
        """Write them where all workers of the plan read them."""
        write_atomically(directory / FILE, self.model_dump_json().encode())


class LimitsFile:
    """The limits of a plan as they are now: read again whenever their file has changed."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        self._seen: tuple[int, int] | None = None
        self._limits = PlanLimits()

    def read(self) -> PlanLimits:
        try:
            with open_regular(self._file) as file:
                status = os.fstat(file.fileno())
                seen = (status.st_ino, status.st_mtime_ns)
                if seen != self._seen:
                    self._limits = PlanLimits.model_validate_json(file.read())
                    self._seen = seen
        except FileNotFoundError:
            return PlanLimits()
        except ValidationError as error:
            raise UsageError(
                f"{self._file} is damaged; run the command that planned these runs again"
            ) from error
        return self._limits


class SharingTimes(Record):
    """Seconds that sharing goes by; each has an environment variable."""

    rate_window: Annotated[float, Field(gt=0)] = 60.0
    outage_retry: Annotated[float, Field(gt=0)] = 1.0
    """Before the first quick retry, and twice as long before each further one."""
    outage_pause: Annotated[float, Field(gt=0)] = 5.0
    """Before the first attempt in an outage, and twice as long before each further one."""
    outage_longest_pause: Annotated[float, Field(gt=0)] = 300.0
    outage_look: Annotated[float, Field(gt=0)] = 2.0
    """Between two looks at whether an outage is over."""

    @classmethod
    def chosen(cls) -> "SharingTimes":
        """The times from the environment variables, MLAGENTBENCH_ and the name in capitals."""
        return times_from_environment(cls, "MLAGENTBENCH_")


def provider_of(model: str) -> str:
    """The provider of a model, as for --max-rate: `openai`, or `openai-api/SERVICE`."""
    parts = model.split("/")
    return "/".join(parts[:2]) if parts[0] == COMPATIBLE and len(parts) > 2 else parts[0]


def file_name(provider: str) -> str:
    """A provider's name as that of a file."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", provider)


def read_shared_limits(
    spend: float | None, rates: Sequence[str], outage: str | None, models: Sequence[str]
) -> PlanLimits:
    """Read --max-spend, --max-rate and --max-outage; a UsageError names a wrong one."""
    if spend is not None and not 0 < spend < math.inf:
        raise UsageError(f"--max-spend {spend:g}: expected dollars above 0, e.g. 200")
    try:
        seconds = DEFAULT_OUTAGE if outage is None else parse_outage(outage)
    except ValueError as error:
        raise UsageError(f"--max-outage {outage}: {error}") from error
    return PlanLimits(spend=spend, rates=parse_rates(rates, models), outage=seconds)


def parse_outage(text: str) -> float:
    return 0.0 if text.strip() == "0" else parse_seconds(text)


def parse_rates(texts: Sequence[str], models: Sequence[str]) -> dict[str, int]:
    """Parse `PROVIDER=N`; a UsageError for a provider that none of these models is from."""
    known = sorted({provider_of(model) for model in models})
    rates: dict[str, int] = {}
    for text in texts:
        provider, sign, number = text.rpartition("=")
        if not sign or not number.isdecimal() or int(number) == 0:
            raise UsageError(
                f"--max-rate {text}: expected PROVIDER=N, calls a minute, e.g. openai=500"
            )
        if provider not in known:
            raise UsageError(
                f"--max-rate {text}: no model of these runs is from {provider!r}; "
                f"their providers are: {', '.join(known) or 'none'}"
            )
        rates[provider] = int(number)
    return rates
