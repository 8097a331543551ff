"""Have cheats graded as any submission is, and compare what they get with the bar."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cheats import (
    babylm,
    bibtex_generation,
    cifar10,
    clrs,
    fathomnet,
    feedback,
    house_price,
    identify_contrails,
    imdb,
    literature_review_tool,
    llama_inference,
    ogbn_arxiv,
    parkinsons_disease,
    spaceship_titanic,
    vectorization,
)
from cheats.given import Cheat, Files, Given
from mlagentbench.grading.success import compare_with_bar
from mlagentbench.records import Record
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.trial_runs import Trials
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task, load_task

CHEATS: Mapping[str, Sequence[Cheat]] = {
    "babylm": babylm.CHEATS,
    "bibtex-generation": bibtex_generation.CHEATS,
    "cifar10": cifar10.CHEATS,
    "clrs": clrs.CHEATS,
    "fathomnet": fathomnet.CHEATS,
    "feedback": feedback.CHEATS,
    "house-price": house_price.CHEATS,
    "identify-contrails": identify_contrails.CHEATS,
    "imdb": imdb.CHEATS,
    "literature-review-tool": literature_review_tool.CHEATS,
    "llama-inference": llama_inference.CHEATS,
    "ogbn-arxiv": ogbn_arxiv.CHEATS,
    "parkinsons-disease": parkinsons_disease.CHEATS,
    "spaceship-titanic": spaceship_titanic.CHEATS,
    "vectorization": vectorization.CHEATS,
}


class CheatOutcome(Record):
    """What a cheat got: a score, or the reason why there is none."""

    task: str
    cheat: str
    idea: str
    score: float | None
    normalised: float | None
    reason: str | None
    reached_bar: bool


def cheat_outcomes(scratch: Path) -> Iterator[CheatOutcome]:
    """The outcomes of all cheats on mini data, which are prepared if necessary."""
    for name, cheats in CHEATS.items():
        task = load_task(name)
        ready = ensure_ready(task, "mini", call=call_task)
        for cheat in cheats:
            yield try_cheat(task, ready, cheat, scratch / name / cheat.__name__)


def try_cheat(task: Task, ready: Ready, cheat: Cheat, scratch: Path) -> CheatOutcome:
    submitted = scratch / "submitted"
    made = cheat(Given(ready.data.public, ready.python_env.python))
    _write(submitted / task.spec.submission.path, made, submitted)
    trials = Trials(task, ready.data, ready.python_env, scratch, print)
    scored = asyncio.run(trials.score(submitted))
    tool = task.spec.tool_model
    measured = stored_measurements(task, ready.data.tier, ready.data.hash, tool)
    if measured is None:
        raise RuntimeError(f"{task.id}: no stored measurements for {ready.data.hash}")
    compared = compare_with_bar(task.spec.metric, measured, scored.score)
    return CheatOutcome(
        task=task.id,
        cheat=cheat.__name__.replace("_", " "),
        idea=(cheat.__doc__ or "").strip(),
        score=scored.score,
        normalised=compared.normalised,
        reason=scored.reason,
        reached_bar=bool(compared.success),
    )


def _write(target: Path, made: Files, submitted: Path) -> None:
    """The files of a submission that is one file, or a directory of several."""
    for name, contents in made.items():
        file = submitted / name if len(made) == 1 else target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents.encode() if isinstance(contents, str) else contents)
