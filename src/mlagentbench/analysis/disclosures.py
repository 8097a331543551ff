"""What every run discloses, in words: one Fact for each thing that a reader must know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlagentbench.records import UNKNOWN, Json, RunRecord

SHOWN_HASH = 12
TRUSTED_ANSWERS = ("model", "nobody")
"""Whoever else answered must be named."""
HARDWARE_UNITS = {"cores": "cores", "memory_gb": "GB", "speed_probe": "M loops/s"}


@dataclass(frozen=True)
class Fact:
    """Something that a run discloses; `of_task` where tasks differ in it anyway.

    `limits_trust` says of a run whether this limits what its result shows; what is unknown always
    does.
    """

    label: str
    value: Callable[[RunRecord], str]
    limits_trust: Callable[[RunRecord], bool] = lambda _: False
    of_task: bool = False

    def in_doubt(self, run: RunRecord) -> bool:
        return self.limits_trust(run) or self.value(run) == UNKNOWN


def version_text(number: int) -> str:
    """A task's version; version 0 is the original benchmark's, of which there is no telling."""
    return str(number) if number > 0 else UNKNOWN


def short_hash(value: str) -> str:
    """A hash as far as people compare it, behind its kind where it has one."""
    kind, sign, digest = value.rpartition(":")
    return f"{kind}{sign}{digest[:SHOWN_HASH]}"


def limits_text(limits: Mapping[str, Json]) -> str:
    """The limits of a run in a few words, such as `50 steps, 5 h`."""
    if not limits:
        return UNKNOWN
    parts = []
    if limits.get("steps") is not None:
        parts.append(f"{limits['steps']} steps")
    if limits.get("time") is not None:
        parts.append(_duration_text(float(limits["time"])))
    if limits.get("tokens") is not None:
        parts.append(f"{limits['tokens']:,} tokens")
    if limits.get("cost") is not None:
        parts.append(f"${limits['cost']:g}")
    return ", ".join(parts) or "none"


def first_limits_text(limits: Mapping[str, Json] | None) -> str:
    """The limits that a run began with, where they were raised later."""
    return "the same" if limits is None else limits_text(limits)


def _duration_text(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _seed(run: RunRecord) -> str:
    if run.disclosure.tier == "full":
        return "none, real data"
    if _has_public_seed(run):
        return "public: for development, no claim about capability"
    return run.disclosure.mini_seed or UNKNOWN


def _has_public_seed(run: RunRecord) -> bool:
    return run.disclosure.tier == "mini" and run.disclosure.mini_seed == "public"


def _pairs(values: Mapping[str, Json]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _hardware(run: RunRecord) -> str:
    shown = (
        f"{value} {HARDWARE_UNITS.get(key, '')}".strip()
        for key, value in run.disclosure.hardware.items()
    )
    return ", ".join(shown) or UNKNOWN


def _python_packages(run: RunRecord) -> str:
    """How much is in it; run.json has all names and versions, and the hash stands for them."""
    packages = dict(run.disclosure.python_packages)
    python = packages.pop("python", UNKNOWN)
    return f"Python {python}, {len(packages)} packages" if packages else "not kept"


def _origin(run: RunRecord) -> str:
    if run.origin == "legacy":
        return "imported from the original's logs"
    if run.origin == "replay":
        return f"a replay of {run.replay_of}, not a result"
    taken = run.branched_from
    if taken is None:
        return "this harness"
    edited = "" if taken.edited is None else ", whose observation was edited"
    return f"branched from {taken.run}, step {taken.step}{edited}"


FACTS = (
    Fact("task", lambda run: run.disclosure.task, of_task=True),
    Fact("task version", lambda run: version_text(run.disclosure.task_version), of_task=True),
    Fact(
        "metric",
        lambda run: f"{run.disclosure.metric}, {run.disclosure.better} is better",
        of_task=True,
    ),
    Fact("tier", lambda run: run.disclosure.tier),
    Fact("variant", lambda run: run.disclosure.variant),
    Fact("mini seed", _seed, _has_public_seed),
    Fact("data", lambda run: short_hash(run.disclosure.data_hash), of_task=True),
    Fact(
        "data verified",
        lambda run: "yes" if run.disclosure.data_verified else "no",
        lambda run: not run.disclosure.data_verified,
    ),
    Fact("agent", lambda run: run.disclosure.agent),
    Fact("settings", lambda run: _pairs(run.disclosure.agent_settings) or "as usual"),
    Fact("model", lambda run: run.disclosure.model),
    Fact("roles", lambda run: _pairs(run.disclosure.roles) or "none"),
    Fact(
        "answered by",
        lambda run: run.disclosure.answered_by,
        lambda run: run.disclosure.answered_by not in TRUSTED_ANSWERS,
    ),
    Fact("recording", lambda run: short_hash(run.disclosure.recording or "none")),
    Fact("sandbox", lambda run: run.disclosure.sandbox),
    Fact(
        "isolation",
        lambda run: run.disclosure.isolation,
        lambda run: run.disclosure.isolation == "none",
    ),
    Fact(
        "network",
        lambda run: "reachable" if run.disclosure.network else "none",
        lambda run: run.disclosure.network,
    ),
    Fact("limits", lambda run: limits_text(run.disclosure.limits), of_task=True),
    Fact(
        "limits at first",
        lambda run: first_limits_text(run.disclosure.first_limits),
        lambda run: run.disclosure.first_limits is not None,
        of_task=True,
    ),
    Fact("feedback", lambda run: run.disclosure.feedback),
    Fact("protocol", lambda run: run.disclosure.protocol),
    Fact(
        "help by a person",
        lambda run: "could be asked for" if run.disclosure.interactive else "none",
        lambda run: run.disclosure.interactive,
    ),
    Fact("python env", lambda run: short_hash(run.disclosure.python_env), of_task=True),
    Fact("in the python env", _python_packages, of_task=True),
    Fact("hardware", _hardware),
    Fact("packages", lambda run: _pairs(run.disclosure.packages) or UNKNOWN),
    Fact("origin", _origin, lambda run: run.origin != "run"),
)
"""In the order in which a reader asks for them."""
