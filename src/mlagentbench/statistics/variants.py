"""How much of the score is memorisation: runs on a task's renamed variant against the original.

Both variants have the same data, split, seeds and starter. A model that does worse under new names
knew the data set; agents without a model should not differ.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence

from mlagentbench.numeric.intervals import standard_error
from mlagentbench.records import Disclosure, Record
from mlagentbench.runs.results import RunResult
from mlagentbench.statistics.cells import Conditions
from mlagentbench.statistics.drawn_data import has_draws
from mlagentbench.tasks.task import RENAMED

SHARED_FACTS = {"agent", "agent_settings", "model", "roles"} | {
    name for name in Conditions.model_fields if name not in ("data", "variant", "first_limits")
}


class VariantDifference(Record):
    """Normalised score on the renamed variant minus that on the original, paired by epoch.

    Draws count once each: the pairs on one draw are averaged first. So `pairs` are runs on one data
    set, and `draws` are what is independent on a range of them.
    """

    task: str
    tier: str
    agent: str
    model: str
    pairs: int
    draws: int | None = None
    """None unless the runs are on a range of draws."""
    original_mean: float
    renamed_mean: float
    difference: float
    standard_error: float | None


class _VariantPair(Record):
    """Two runs of one epoch on the same draw."""

    draw: str
    original: float
    renamed: float


def variant_differences(results: Sequence[RunResult]) -> list[VariantDifference]:
    """The differences of all agents and models that ran on both variants of a task."""
    groups: dict[str, dict[tuple[int, str], dict[str, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    facts_of: dict[str, Disclosure] = {}
    for result in results:
        facts, grade = result.record.disclosure, result.grade
        if grade is None or grade.success is None:
            continue
        key = _key(facts)
        facts_of.setdefault(key, facts)
        # A run without a valid submission has the score of the floor, 0.
        pair = groups[key][result.record.epoch, facts.draw or ""]
        pair[facts.variant] = grade.normalised or 0.0
    found = []
    for key, runs in sorted(groups.items()):
        pairs = [
            _VariantPair(draw=draw, original=both["original"], renamed=both[RENAMED])
            for (_, draw), both in runs.items()
            if len(both) == 2
        ]
        if pairs:
            found.append(_difference(facts_of[key], pairs))
    return found


def _difference(facts: Disclosure, pairs: Sequence[_VariantPair]) -> VariantDifference:
    sampled = has_draws(facts)
    draws: dict[str, list[_VariantPair]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        draws[pair.draw if sampled else str(place)].append(pair)
    original = [statistics.fmean(one.original for one in group) for group in draws.values()]
    renamed = [statistics.fmean(one.renamed for one in group) for group in draws.values()]
    differences = [new - old for old, new in zip(original, renamed, strict=True)]
    return VariantDifference(
        task=_original(facts),
        tier=facts.tier,
        agent=facts.agent,
        model=facts.model,
        pairs=len(pairs),
        draws=len(draws) if sampled else None,
        original_mean=statistics.fmean(original),
        renamed_mean=statistics.fmean(renamed),
        difference=statistics.fmean(differences),
        standard_error=standard_error(differences),
    )


def _key(facts: Disclosure) -> str:
    """What two runs must share to differ in their task's names only."""
    values = {"task": _original(facts), **facts.model_dump(mode="json", include=SHARED_FACTS)}
    return json.dumps(values, sort_keys=True)


def _original(facts: Disclosure) -> str:
    return facts.task.removesuffix(f"-{RENAMED}") if facts.variant == RENAMED else facts.task
