"""What a task's names are worth: runs on its renamed variant against runs on the task itself.

Both variants have the same data, split, seeds and starter. A model that does worse under other
names than under the well-known ones knew the data set; agents without a model should not differ.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence

from mlagentbench.numeric.intervals import standard_error
from mlagentbench.records import Disclosure, Record
from mlagentbench.runs.results import RunResult
from mlagentbench.tasks.task import RENAMED


class VariantDifference(Record):
    """Normalised score under new names minus that under the old ones, run by run."""

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
    """Of all agents and models that ran on both variants of a task; paired by epoch."""
    groups: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    facts_of: dict[str, Disclosure] = {}
    for result in results:
        facts, grade = result.record.disclosure, result.grade
        if grade is None or grade.success is None:
            continue
        key = _key(facts)
        facts_of.setdefault(key, facts)
        # Without a valid submission a run stands at the floor, which is 0 on this scale.
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
    shared = {
        "task_version", "tier", "mini_seed", "agent", "agent_settings", "model", "roles",
        "sandbox", "limits", "feedback", "protocol",
    }  # fmt: skip
    values = {"task": _original(facts), **facts.model_dump(mode="json", include=shared)}
    return json.dumps(values, sort_keys=True)


def _original(facts: Disclosure) -> str:
    return facts.task.removesuffix(f"-{RENAMED}") if facts.variant == RENAMED else facts.task
