"""Several processes of one plan, a provider's real client in each, and a server on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import wire_servers
from wire_formats import Messages
from wire_servers import Answer, Request, WireServer

from mlagentbench.models.sharing.outages import FILE, FOLDER
from mlagentbench.models.sharing.plan_limits import PlanLimits

pytestmark = pytest.mark.slow

WIRE = Messages()
PROVIDER = "anthropic"
CALLER = Path(wire_servers.__file__).with_name("plan_caller.py")
PROCESSES = 4
WINDOW = 3.0
PATIENCE = 120.0
CLOCK_STEP = 0.02
"""Seconds by which the clock of a file system may be behind."""
TIMES = {
    "MLAGENTBENCH_RATE_WINDOW": str(WINDOW),
    "MLAGENTBENCH_OUTAGE_RETRY": "0.05",
    "MLAGENTBENCH_OUTAGE_PAUSE": "0.3",
    "MLAGENTBENCH_OUTAGE_LONGEST_PAUSE": "0.6",
    "MLAGENTBENCH_OUTAGE_LOOK": "0.1",
    "MLAGENTBENCH_LEASE_RENEWAL": "0.5",
    "MLAGENTBENCH_LEASE_VOID": "5",
}


class Provider(WireServer):
    """Answers unless it is down, and knows when it was asked, and by how many at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(WIRE.aside)
        self.is_down = False
        self.asked: list[float] = []
        self.most_at_once = 0
        self._seconds = seconds
        self._at_once = 0
        self._guard = threading.Lock()

    def answer(self, request: Request) -> Answer:
        with self._guard:
            self.asked.append(time.time())
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            down = self.is_down
        time.sleep(self._seconds)
        with self._guard:
            self._at_once -= 1
        if down:
            return WIRE.error(503, "The machine room is on fire", {"x-should-retry": "false"})
        return WIRE.text("Well.")


class Caller:
    """One worker of the plan."""

    def __init__(self, directory: Path, url: str, calls: int) -> None:
        variables = {**os.environ, **TIMES, **WIRE.variables(url)}
        variables["PYTHONPATH"] = os.pathsep.join(sys.path)
        self.process = subprocess.Popen(
            [sys.executable, str(CALLER), str(directory), WIRE.model, str(calls)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables,
        )

    def await_ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def start(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def lines(self) -> list[str]:
        said, _ = self.process.communicate(timeout=PATIENCE)
        return said.splitlines()


@contextmanager
def calling(directory: Path, provider: Provider, calls: int) -> Iterator[list[Caller]]:
    """Four processes of one plan that begin to call at the same time."""
    with ExitStack() as stack:
        stack.enter_context(provider.running())
        callers = [Caller(directory, provider.url, calls) for _ in range(PROCESSES)]
        for caller in callers:
            stack.callback(caller.process.kill)
        for caller in callers:
            caller.await_ready()
        for caller in callers:
            caller.start()
        yield callers


def await_that(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def starting_with(text: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(text)]


def test_four_processes_spend_no_more_than_the_cap_and_their_calls_in_flight(
    tmp_path: Path,
) -> None:
    cap = 10
    PlanLimits(spend=cap).write(tmp_path)
    provider = Provider(seconds=0.05)
    with calling(tmp_path, provider, calls=8) as callers:
        lines = [line for caller in callers for line in caller.lines()]
    made = len(starting_with("reply", lines))
    assert cap <= made == len(provider.asked) <= cap + PROCESSES - 1
    refused = starting_with("RunInterrupted", lines)
    assert len(refused) == PROCESSES * 8 - made
    assert all(f"of ${cap}.00 for all runs together" in line for line in refused)
    counters = list((tmp_path / "spent").iterdir())
    assert len(counters) == PROCESSES


def test_a_higher_cap_continues_from_what_dead_processes_have_spent(tmp_path: Path) -> None:
    PlanLimits(spend=4).write(tmp_path)
    first = Provider()
    with calling(tmp_path, first, calls=2) as callers:
        for caller in callers:
            caller.lines()
    PlanLimits(spend=6).write(tmp_path)
    second = Provider()
    with calling(tmp_path, second, calls=2) as callers:
        for caller in callers:
            caller.lines()
    both = len(first.asked) + len(second.asked)
    assert 6 <= both <= 6 + PROCESSES - 1


def test_no_window_has_more_calls_than_the_rate(tmp_path: Path) -> None:
    most = 8
    PlanLimits(rates={PROVIDER: most}).write(tmp_path)
    provider = Provider()
    with calling(tmp_path, provider, calls=4) as callers:
        lines = [line for caller in callers for line in caller.lines()]
    asked = sorted(provider.asked)
    turns = sorted(float(file.read_text()) for file in (tmp_path / "calls" / PROVIDER).iterdir())
    assert len(starting_with("reply", lines)) == len(asked) == len(turns) == 16
    spans = [later - first for first, later in zip(turns, turns[most:], strict=False)]
    assert min(spans) >= WINDOW
    assert turns[-1] - turns[0] < 4 * WINDOW, "nobody waits much longer than has to be"
    # A call arrives after its turn, on a busy machine some much later than others.
    assert all(call >= turn - CLOCK_STEP for call, turn in zip(asked, turns, strict=True))


def test_an_outage_lets_all_wait_and_one_try_even_if_that_one_is_killed(tmp_path: Path) -> None:
    PlanLimits().write(tmp_path)
    provider = Provider(seconds=0.2)
    provider.is_down = True
    down = tmp_path / FOLDER / PROVIDER / FILE
    with calling(tmp_path, provider, calls=2) as callers:
        await_that(down.exists)
        await_that(lambda: b'"tries":2' in down.read_bytes())
        provider.most_at_once = 0
        asked = len(provider.asked)
        trying = trying_process(tmp_path)
        os.kill(trying, signal.SIGKILL)
        await_that(lambda: len(provider.asked) > asked + 3)
        assert trying_process(tmp_path) != trying
        assert provider.most_at_once == 1
        provider.is_down = False
        left = [caller for caller in callers if caller.process.pid != trying]
        lines = [caller.lines() for caller in left]
    assert not down.exists()
    for said in lines:
        assert starting_with("reply", said) == ["reply: Well."] * 2
        [told, *_] = starting_with("said", said)
        assert f"{PROVIDER} does not answer since" in told
        assert "503" in told and "all runs wait" in told


def trying_process(directory: Path) -> int:
    from mlagentbench.runs.lease import current_holder

    found: list[int] = []

    def is_held() -> bool:
        holder = current_holder(directory / FOLDER / PROVIDER)
        if holder is None or holder.is_gone:
            return False
        found.append(holder.pid)
        return True

    await_that(is_held)
    return found[-1]


def test_runs_fail_when_an_outage_lasts_too_long(tmp_path: Path) -> None:
    PlanLimits(outage=1.5).write(tmp_path)
    provider = Provider()
    provider.is_down = True
    with calling(tmp_path, provider, calls=1) as callers:
        lines = [line for caller in callers for line in caller.lines()]
    failed = starting_with("RunFailed", lines)
    assert len(failed) == PROCESSES
    assert all("--max-outage 1.5 s" in line and "same command again" in line for line in failed)


@pytest.mark.parametrize("status", [400, 401, 404])
def test_other_errors_fail_at_once(tmp_path: Path, status: int) -> None:
    class Refusing(Provider):
        def answer(self, request: Request) -> Answer:
            self.asked.append(0.0)
            return WIRE.error(status, "No.")

    PlanLimits().write(tmp_path)
    provider = Refusing()
    with provider.running():
        caller = Caller(tmp_path, provider.url, 1)
        caller.await_ready()
        caller.start()
        lines = caller.lines()
    assert len(provider.asked) == 1
    assert len(lines) == 1 and not lines[0].startswith("reply")
    assert not (tmp_path / FOLDER).exists()


def test_a_call_that_fails_alone_does_not_stop_the_others_for_long(tmp_path: Path) -> None:
    class Poisoned(Provider):
        good = 0

        def answer(self, request: Request) -> Answer:
            if request.path.startswith("/poison"):
                return WIRE.error(500, "?", {"x-should-retry": "false"})
            self.good += 1  # one process asks, one call after the other
            return WIRE.text("Ok.")

    PlanLimits().write(tmp_path)
    provider = Poisoned()
    with provider.running(), ExitStack() as stack:
        callers = [
            Caller(tmp_path, f"{provider.url}/poison", 1),
            Caller(tmp_path, provider.url, 2000),
        ]
        for caller in callers:
            stack.callback(caller.process.kill)
            caller.await_ready()
        for caller in callers:
            caller.start()
        [line] = [one for one in callers[0].lines() if not one.startswith("said")]
        answered = provider.good
        assert answered > 0
        await_that(lambda: provider.good > answered + 5)
    assert line.startswith("RunFailed: anthropic answers other calls, but not this one: 500")
