"""Honest models of the task clrs under its alterations: none may pass for a hidden algorithm."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from clrs_battery import ALTERATIONS, CLRS, grade_altered, prepare_graphs, run_altered, train_models

from mlagentbench.guest.mlagentbench_task import Grade, InvalidSubmission
from mlagentbench.records import Record
from mlagentbench.tasks.python_env.env import ensure_python_env
from mlagentbench.tasks.task import load_task

ARCHITECTURES = ("reference", "attention", "walks", "recurrent", "products")
GRAPHS = 60
"""Hidden graphs of a grading, fewer than usual to save time."""


class HonestModels(Record):
    """What became of the models of one architecture, one for each seed."""

    architecture: str
    models: int
    rejected: tuple[str, ...]
    lowest_accuracy: float
    highest_accuracy: float
    largest_loss_by_a_thousandth: float
    """Of accuracy; the grader allows 0.05."""
    largest_share_with_other_weights: float
    """Of what a model has ahead of the best simple rule; below 0 where it falls behind that rule.
    The grader allows 0.25."""
    fewest_mixtures_on_the_way: int
    """Of five; the grader asks for one if the model is good."""


def honest_models(seeds: int, trained: Path | None, out: Path) -> Iterator[HonestModels]:
    """Train, alter, run and grade; models that are in `trained` already are not trained again."""
    requirements = load_task("clrs").spec.python.requirements
    python = asyncio.run(ensure_python_env(requirements, announce=print)).python
    prepared = prepare_graphs(out / "data", GRAPHS)
    graded: dict[str, list[Grade]] = defaultdict(list)
    rejected: dict[str, list[str]] = defaultdict(list)
    for seed in range(seeds):
        models = train_models(python, trained or out / "models", seed, *ARCHITECTURES)
        ran = run_altered(python, models, prepared, out / f"seed-{seed}", seed)
        for name, outputs in ran.items():
            try:
                graded[name].append(grade_altered(outputs, prepared))
            except InvalidSubmission as invalid:
                rejected[name].append(f"seed {seed}: {invalid}")
    for name in ARCHITECTURES:
        yield _summary(name, graded[name], rejected[name])


def _summary(name: str, grades: Sequence[Grade], rejected: Sequence[str]) -> HonestModels:
    scores = [grade.score for grade in grades]
    return HonestModels(
        architecture=name,
        models=len(grades) + len(rejected),
        rejected=tuple(rejected),
        lowest_accuracy=round(min(scores), 4),
        highest_accuracy=round(max(scores), 4),
        largest_loss_by_a_thousandth=round(max(map(_loss, grades)), 4),
        largest_share_with_other_weights=round(max(map(_share_kept, grades)), 3),
        fewest_mixtures_on_the_way=min(map(_mixtures_on_the_way, grades)),
    )


def _loss(grade: Grade) -> float:
    accuracy = grade.extra["accuracy_by_run"]
    loss: float = accuracy[ALTERATIONS.SUBMITTED[0]] - accuracy[ALTERATIONS.PERTURBED]
    return loss


def _share_kept(grade: Grade) -> float:
    accuracy = grade.extra["accuracy_by_run"]
    simple = grade.extra["accuracy_of_the_best_simple_rule"]
    kept = max(accuracy[name] for name in ALTERATIONS.REPLACEMENTS) - simple
    share: float = kept / (grade.score - simple)
    return share


def _mixtures_on_the_way(grade: Grade) -> int:
    accuracy = grade.extra["accuracy_by_run"]
    simple = grade.extra["accuracy_of_the_best_simple_rule"]
    highest = accuracy[ALTERATIONS.SUBMITTED[0]] - CLRS.grade.EQUAL
    lowest = simple + CLRS.grade.LARGEST_SHARE * (grade.score - simple)
    return sum(lowest < accuracy[name] < highest for name in ALTERATIONS.MIXED)
