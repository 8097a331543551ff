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
from mlagentbench.tasks.task import RENAMED

SHARED_FACTS = {"agent", "agent_settings", "model", "roles"} | {
    name for name in Conditions.model_fields if name not in ("data", "variant", "first_limits")
}


class VariantDifference(Record):
    """Normalised score on the renamed variant minus that on the original, paired by epoch."""

    task: str
    tier: str
    agent: str
    model: str
    pairs: int
    original_mean: float
    renamed_mean: float
    difference: float
    standard_error: float | None


def variant_differences(results: Sequence[RunResult]) -> list[VariantDifference]:
    """The differences of all agents and models that ran on both variants of a task."""
    groups: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    facts_of: dict[str, Disclosure] = {}
    for result in results:
        facts, grade = result.record.disclosure, result.grade
        if grade is None or grade.success is None:
            continue
        key = _key(facts)
        facts_of.setdefault(key, facts)
        # A run without a valid submission has the score of the floor, 0.
        groups[key][result.record.epoch][facts.variant] = grade.normalised or 0.0
    found = []
    for key, epochs in sorted(groups.items()):
        pairs = [both for both in epochs.values() if len(both) == 2]
        if pairs:
            found.append(_difference(facts_of[key], pairs))
    return found


def _difference(facts: Disclosure, pairs: Sequence[dict[str, float]]) -> VariantDifference:
    differences = [pair[RENAMED] - pair["original"] for pair in pairs]
    return VariantDifference(
        task=_original(facts),
        tier=facts.tier,
        agent=facts.agent,
        model=facts.model,
        pairs=len(pairs),
        original_mean=statistics.fmean(pair["original"] for pair in pairs),
        renamed_mean=statistics.fmean(pair[RENAMED] for pair in pairs),
        difference=statistics.fmean(differences),
        standard_error=standard_error(differences),
    )


def _key(facts: Disclosure) -> str:
    """What two runs must share to differ in their task's names only."""
    values = {"task": _original(facts), **facts.model_dump(mode="json", include=SHARED_FACTS)}
    return json.dumps(values, sort_keys=True)


def _original(facts: Disclosure) -> str:
    return facts.task.removesuffix(f"-{RENAMED}") if facts.variant == RENAMED else facts.task
