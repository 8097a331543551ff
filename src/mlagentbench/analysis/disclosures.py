"""Descriptions of what every run discloses: one Fact for each thing that a reader must know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlagentbench.limit_table import LIMITS
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import UNKNOWN, Disclosure, GrantedResources, Json, RunRecord
from mlagentbench.tasks.draws import PUBLIC

HASH_CHARACTERS = 12
TRUSTED_ANSWERS = ("model", "nobody")
"""Values of `answered_by` that do not limit trust in a result."""
HARDWARE_UNITS = {"cores": "cores", "memory_gb": "GB", "speed_probe": "M loops/s"}


@dataclass(frozen=True)
class Fact:
    """Something that a run discloses; `of_task` if it differs between tasks anyway.

    `limits_trust` tells whether its value limits what a run's result shows; an unknown value always
    does.
    """

    label: str
    value: Callable[[RunRecord], str]
    limits_trust: Callable[[RunRecord], bool] = lambda _: False
    of_task: bool = False
    of_draw: bool = False
    """Compared only between runs of one task on one draw."""

    def in_doubt(self, run: RunRecord) -> bool:
        return self.limits_trust(run) or self.value(run) == UNKNOWN


def version_text(number: int) -> str:
    """A task's version; 0, of the original benchmark, is unknown."""
    return str(number) if number > 0 else UNKNOWN


def short_hash(value: str) -> str:
    """The first characters of a hash, after its kind if it has one."""
    kind, sign, digest = value.rpartition(":")
    return f"{kind}{sign}{digest[:HASH_CHARACTERS]}"


def limits_text(limits: Mapping[str, Json]) -> str:
    """The limits of a run, such as `50 steps, 5 h`."""
    if not limits:
        return UNKNOWN
    known = {name: value for name, value in limits.items() if value is not None}
    texts = [limit.stated(known.pop(name)) for name, limit in LIMITS.items() if name in known]
    of_missing_packages = [f"{name} {value}" for name, value in known.items()]
    return ", ".join(texts + of_missing_packages) or "none"


def first_limits_text(limits: Mapping[str, Json] | None) -> str:
    """The limits that a run began with, if they were raised later."""
    return "unchanged" if limits is None else limits_text(limits)


def _machine_code(run: RunRecord) -> str:
    """Which machine code submissions could execute when they were graded."""
    texts = {
        "any": "any; nothing prevents compiled code",
        "installed": "only that of Python and the installed libraries",
        "none": "none; submissions are not executed",
        None: UNKNOWN,
    }
    return texts[run.disclosure.machine_code]


def tools_text(tools: tuple[str, ...] | None) -> str:
    """The compilers and language runtimes that programs found, besides Python."""
    if tools is None:
        return "all that the machine has"
    return ", ".join(tools) or "no compilers, no language runtimes"


def _draw(run: RunRecord) -> str:
    if run.disclosure.tier == "full":
        return "none, real data"
    if _is_public(run):
        return "public: for development, no claim about capability"
    return run.disclosure.draw or UNKNOWN


def _draws(run: RunRecord) -> str:
    """What was asked for: one draw, or a range of them."""
    if run.disclosure.tier == "full":
        return "none, real data"
    return run.disclosure.draw_policy or UNKNOWN


def _is_public(run: RunRecord) -> bool:
    return run.disclosure.draw == PUBLIC


def _pairs(values: Mapping[str, Json]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _hardware(run: RunRecord) -> str:
    hardware = run.disclosure.hardware.items()
    parts = (f"{value} {HARDWARE_UNITS.get(key, '')}".strip() for key, value in hardware)
    return ", ".join(parts) or UNKNOWN


def resources_text(held: GrantedResources | None) -> str:
    """What a run held of its machine, such as `2 cores, 8 GB`."""
    if held is None:
        return "those of the whole machine"
    gpus = f", {', '.join(held.gpus)}" if held.gpus else ""
    return f"{counted(held.cpus, 'core')}, {held.memory / 1e9:.3g} GB{gpus}"


def execution_text(execution: bool) -> str:
    """Whether agents could execute anything."""
    return "available" if execution else "none"


def _resources(facts: Disclosure) -> str:
    asked = "" if facts.gpus is None else f" ({counted(facts.gpus, 'GPU')} asked for)"
    return f"{resources_text(facts.resources)}{asked}"


def _python_packages(run: RunRecord) -> str:
    """A short description; run.json has all names and versions."""
    packages = dict(run.disclosure.python_packages)
    python = packages.pop("python", UNKNOWN)
    return f"Python {python}, {len(packages)} packages" if packages else "not recorded"


def unenforced_text(run: RunRecord) -> str:
    """The rules that may have been broken, whatever the score is."""
    rules = run.disclosure.unenforced_rules
    told = {"no": "nothing enforces", "journal": "only the journal can tell"}
    parts = [
        f"{text}: {', '.join(found)}"
        for by, text in told.items()
        if (found := [rule for rule in rules if rules[rule] == by])
    ]
    return "; ".join(parts) or "none"


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
    Fact("profile", lambda run: run.disclosure.profile or "none"),
    Fact("variant", lambda run: run.disclosure.variant),
    Fact("draws", _draws, of_task=True),
    Fact("draw", _draw, _is_public, of_task=True, of_draw=True),
    Fact(
        "data",
        lambda run: short_hash(run.disclosure.data_hash),
        of_task=True,
        of_draw=True,
    ),
    Fact("generator", lambda run: short_hash(run.disclosure.generator or "none"), of_task=True),
    Fact(
        "data verified",
        lambda run: "yes" if run.disclosure.data_verified else "no",
        lambda run: not run.disclosure.data_verified,
    ),
    Fact(
        "differences from the official data",
        lambda run: "; ".join(run.disclosure.data_differences) or "none known",
        lambda run: bool(run.disclosure.data_differences),
        of_task=True,
    ),
    Fact("agent", lambda run: run.disclosure.agent),
    Fact("settings", lambda run: _pairs(run.disclosure.agent_settings) or "default"),
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
    Fact("base image", lambda run: run.disclosure.image or "none"),
    Fact(
        "image with packages",
        lambda run: short_hash((run.disclosure.image_id or "none").removeprefix("sha256:")),
        of_task=True,
    ),
    Fact("machine code in submissions", _machine_code, of_task=True),
    Fact("tools", lambda run: tools_text(run.disclosure.tools)),
    Fact(
        "network",
        lambda run: "reachable" if run.disclosure.network else "none",
        lambda run: run.disclosure.network,
    ),
    Fact("cores, memory and GPUs", lambda run: _resources(run.disclosure), of_task=True),
    Fact("limits", lambda run: limits_text(run.disclosure.limits), of_task=True),
    Fact(
        "initial limits",
        lambda run: first_limits_text(run.disclosure.first_limits),
        lambda run: run.disclosure.first_limits is not None,
        of_task=True,
    ),
    Fact("feedback", lambda run: run.disclosure.feedback),
    Fact("execution", lambda run: execution_text(run.disclosure.execution)),
    Fact("protocol", lambda run: run.disclosure.protocol),
    Fact("fresh draws", lambda run: str(run.disclosure.rebuild_draws or "none")),
    Fact("hash of the fresh draws' key", lambda run: run.disclosure.fresh_key or "none"),
    Fact(
        "human help",
        lambda run: "available" if run.disclosure.interactive else "none",
        lambda run: run.disclosure.interactive,
    ),
    Fact(
        "primary comparison",
        lambda run: " : ".join(run.disclosure.primary or ("none",)),
    ),
    Fact(
        "unenforced rules",
        unenforced_text,
        lambda run: "no" in run.disclosure.unenforced_rules.values(),
        of_task=True,
    ),
    Fact("virtual environment", lambda run: short_hash(run.disclosure.python_env), of_task=True),
    Fact("packages in the virtual environment", _python_packages, of_task=True),
    Fact("hardware", _hardware),
    Fact("packages", lambda run: _pairs(run.disclosure.packages) or UNKNOWN),
    Fact("origin", _origin, lambda run: run.origin != "run"),
)
"""In the order in which a reader asks for them."""
