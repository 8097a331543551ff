"""`run --dry-run`: what the runs of a request are expected to take. Starts and writes nothing."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import disk_usage

from mlagentbench.launch.engines.engine import DEFAULT_ENGINE
from mlagentbench.launch.forecast.needs import (
    MissingPart,
    Needs,
    UnmeasuredDraws,
    find_needs,
    find_ready,
    find_unmeasured,
)
from mlagentbench.launch.forecast.profiles import AmountSpread, PastRuns, Profile, profile_of
from mlagentbench.launch.plans.plan import plan_suite
from mlagentbench.launch.plans.plan_state import unfinished
from mlagentbench.launch.presets.estimate import Estimate, estimate
from mlagentbench.launch.request import SuiteRequest, data_needs, prices_of
from mlagentbench.machine.slots import most_at_once
from mlagentbench.models.model_choice import NO_MODEL
from mlagentbench.numeric.number_format import (
    bytes_text,
    counted,
    dollars_text,
    duration_text,
    tokens_text,
)
from mlagentbench.records import Record

TextOf = Callable[[float], str]


class Total(Record):
    """An amount for all runs that are left, as far as it is known."""

    low: float
    expected: float
    high: float
    unknown: int
    """The runs of which nothing is known; they come on top."""


class CellForecast(Record):
    """What the runs of one cell are expected to take."""

    task: str
    agent: str
    model: str
    left: int
    profile: Profile
    dollars: AmountSpread | None = None
    """Of one run; None without prices."""


class Forecast(Record):
    """What the runs of a request are expected to take, with the spread and what is unknown."""

    runs: int
    finished: int
    at_most: Estimate
    cells: tuple[CellForecast, ...]
    hours: Total
    tokens: Total
    dollars: Total | None
    """None without prices."""
    at_once: int | None
    """Runs at once; None if the engine decides."""
    stored: Total
    """Bytes below --out."""
    free: int
    """Bytes on the disk of --out."""
    needs: Needs
    unmeasured: UnmeasuredDraws
    fresh_draws: int | None = None
    """The fresh draws that each submission is rebuilt on."""

    @property
    def left(self) -> int:
        return self.runs - self.finished

    def lines(self) -> Iterator[str]:
        """For people, one thing a line."""
        runs = counted(self.runs, "run")
        yield f"runs: {runs}, {self.finished} finished already, {self.left} left"
        yield from self.at_most.lines()
        yield f"expected time: {_hours(self.hours)}{self._side_by_side}"
        yield from self._measuring()
        yield f"expected tokens: {_spread(self.tokens, tokens_text)}"
        if self.dollars is not None:
            yield f"expected dollars: {_spread(self.dollars, dollars_text)}"
        elif any(cell.model != NO_MODEL for cell in self.cells):
            yield "expected dollars: unknown without --prices FILE"
        for source, cells in self._sources().items():
            yield f"  {counted(cells, 'run')}: {source}"
        yield self._slots
        yield from self._disk()
        yield from self._downloads()

    def _measuring(self) -> Iterator[str]:
        """What comes on top of the runs."""
        if self.unmeasured.number:
            seconds = self.unmeasured.seconds
            time = "time unknown" if seconds is None else f"about {duration_text(seconds)} on top"
            yield f"measuring: {counted(self.unmeasured.number, 'draw')}, {time}"
        if self.fresh_draws is not None:
            yield (
                "rebuilding: every submission is made again on its draw and on "
                f"{counted(self.fresh_draws, 'fresh draw')}; this time comes on top"
            )

    @property
    def _side_by_side(self) -> str:
        if self.at_once is None or self.at_once == 1 or self.hours.expected == 0:
            return ""
        seconds = self.hours.expected * 3600 / self.at_once
        return f"; {self.at_once} at once: about {duration_text(seconds)}"

    @property
    def _slots(self) -> str:
        if self.at_once is None:
            return "at once: as many as the engine's workers have slots for"
        return f"at once: {counted(self.at_once, 'run')} on this machine"

    def _sources(self) -> dict[str, int]:
        """Where the numbers are from, with the runs that each is for."""
        found: dict[str, int] = {}
        for cell in self.cells:
            tokens = cell.profile.tokens_source
            time = cell.profile.source
            source = time if tokens is None else f"{time}; tokens from {tokens}"
            found[source] = found.get(source, 0) + cell.left
        return {source: left for source, left in found.items() if left}

    def _disk(self) -> Iterator[str]:
        yield (
            f"disk of --out: {_spread(self.stored, bytes_text)}; {bytes_text(self.free)} are free"
        )
        yield (
            f"there already: {bytes_text(self.needs.prepared)} of prepared data, "
            f"{bytes_text(self.needs.environments)} of virtual environments"
        )

    def _downloads(self) -> Iterator[str]:
        if not self.needs.missing:
            yield "downloads: none, all data and virtual environments are there"
        for need in self.needs.missing:
            yield f"missing: {_need_text(need)}"


def forecast(request: SuiteRequest) -> Forecast:
    """What the runs of a request are expected to take; reads only."""
    left = _left(request)
    past = PastRuns.below(request.out)
    prices = prices_of(request)
    cells = []
    for cell in request.cells:
        profile = profile_of(cell, request.settings, past)
        price = None if prices is None else prices.get(cell.model)
        cells.append(
            CellForecast(
                task=cell.task,
                agent=cell.info.name,
                model=cell.model,
                left=left[cell.model_dump_json()],
                profile=profile,
                dollars=None if price is None else _dollars(profile, price.input, price.output),
            )
        )
    return Forecast(
        runs=len(request.cells) * request.runs,
        finished=len(request.cells) * request.runs - sum(left.values()),
        at_most=estimate(request),
        cells=tuple(cells),
        hours=_total([(one.left, one.profile.seconds) for one in cells], 3600.0),
        tokens=_total([(one.left, _tokens(one.profile)) for one in cells]),
        dollars=_all_dollars(cells, priced=prices is not None),
        at_once=_at_once(request, left),
        stored=_total([(one.left, one.profile.stored) for one in cells]),
        free=disk_usage(_existing(request.out)).free,
        needs=find_needs(request),
        unmeasured=find_unmeasured(request),
        fresh_draws=request.settings.fresh_draws,
    )


def _left(request: SuiteRequest) -> dict[str, int]:
    """The runs of each cell that are left; those of tasks that are not ready yet are all left."""
    ready = find_ready(request)
    left = {}
    for cell in request.cells:
        left[cell.model_dump_json()] = request.runs
        alone = request.model_copy(update={"cells": (cell,)})
        if all(need in ready for need in data_needs(alone)):
            plan = plan_suite(alone, ready)
            left[cell.model_dump_json()] = len(unfinished(plan.requests, request.out))
    return left


def _at_once(request: SuiteRequest, left: dict[str, int]) -> int | None:
    if request.engine.name != DEFAULT_ENGINE:
        return None
    needs = [
        request.settings.need(request.settings.task(cell.task).spec)
        for cell in request.cells
        for _ in range(left[cell.model_dump_json()])
    ]
    slots = most_at_once(needs)
    return slots if request.jobs is None else min(request.jobs, slots)


def _dollars(profile: Profile, per_input: float, per_output: float) -> AmountSpread | None:
    """What one run costs by its tokens, each at its full price."""
    read, written = profile.input_tokens, profile.output_tokens
    if read is None or written is None:
        return None
    return AmountSpread(
        low=(read.low * per_input + written.low * per_output) / 1e6,
        mean=(read.mean * per_input + written.mean * per_output) / 1e6,
        high=(read.high * per_input + written.high * per_output) / 1e6,
        n=read.n,
    )


def _tokens(profile: Profile) -> AmountSpread | None:
    return _dollars(profile, 1e6, 1e6)


def _all_dollars(cells: Sequence[CellForecast], *, priced: bool) -> Total | None:
    free = AmountSpread(low=0, mean=0, high=0, n=1)
    amounts = [(one.left, free if one.model == NO_MODEL else one.dollars) for one in cells]
    return _total(amounts) if priced else None


def _total(amounts: Sequence[tuple[int, AmountSpread | None]], unit: float = 1.0) -> Total:
    known = [(left, spread) for left, spread in amounts if spread is not None]
    return Total(
        low=sum(left * spread.low for left, spread in known) / unit,
        expected=sum(left * spread.mean for left, spread in known) / unit,
        high=sum(left * spread.high for left, spread in known) / unit,
        unknown=sum(left for left, spread in amounts if spread is None),
    )


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


# Texts


def _hours(total: Total) -> str:
    return _spread(total, lambda hours: duration_text(hours * 3600))


def _spread(total: Total, text: TextOf) -> str:
    """Such as "about 3 h (2 h to 5 h)", with how many runs it does not count."""
    unknown = f"{counted(total.unknown, 'run')} of unknown amount" if total.unknown else ""
    if total.expected == 0 and total.unknown:
        return f"unknown for {counted(total.unknown, 'run')}"
    said = f"about {text(total.expected)}"
    if total.low != total.high:
        said += f" ({text(total.low)} to {text(total.high)})"
    return f"{said}; and {unknown}" if unknown else said


def _need_text(need: MissingPart) -> str:
    if need.download == 0:
        fetched = "nothing to download"
    else:
        known = "of unknown size" if need.download is None else bytes_text(need.download)
        fetched = f"download {known}"
    disk = "" if need.disk is None else f", {bytes_text(need.disk)} on disk"
    first = "" if need.next_step is None else f"; run first: {need.next_step}"
    return f"{need.what}: {fetched}{disk}{first}"
