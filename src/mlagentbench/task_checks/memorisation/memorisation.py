"""Has a model memorised the full data sets? `mlagentbench tasks memorisation MODEL`.

    prepared data --source_tables--> the original tables
    table --memory_questions--> questions, and the same questions about the mini tier
    questions --kept_replies--> replies --memory_verdict--> tests, verdict

docs/evaluation/memorisation.md describes the method and its limits.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

import mlagentbench
from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.home import memorisation_dir
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import NO_MODEL, ModelChoice, who_answers
from mlagentbench.records import Json, Record
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.memorisation.kept_replies import KeptReplies, KeptReply
from mlagentbench.task_checks.memorisation.memory_questions import (
    DataSet,
    MemoryQuestion,
    MemoryTestName,
    cell_questions,
    hardest,
    has_distinct_labels,
    label_questions,
    text_column,
    text_questions,
    why_no_questions,
)
from mlagentbench.task_checks.memorisation.memory_verdict import (
    CheckedReply,
    MemoryTest,
    MemoryVerdict,
    check_reply,
    memory_tests,
    worst,
)
from mlagentbench.task_checks.memorisation.source_tables import SourceTable, source_tables
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared, require_prepared
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import Task, load_task, task_folders

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelCost

Say = Callable[[str], None]


class MemorisationRequest(Record):
    """What was asked for."""

    model: ModelChoice
    tasks: tuple[str, ...]
    """Empty for all tasks whose full tier is prepared."""
    rows: int
    """Questions in each test."""
    seed: int
    max_tokens: int
    out: Path | None = None


class MemoryAnswer(Record):
    """A question with its reply, as it is stored."""

    test: MemoryTestName
    control: bool
    row: str
    column: str
    prompt: str
    reply: str
    stop_reason: str
    given: str | None
    matched: bool
    expected: str | None
    """None for the label of a held-out row: it stays in private/."""
    guesses: dict[str, str]


class TaskMemorisation(Record):
    """What was found about one task."""

    task: str
    version: int
    verdict: MemoryVerdict
    reason: str = ""
    """Why it is not applicable."""
    data_hash: str | None = None
    verified: bool | None = None
    data_differences: tuple[str, ...] = ()
    """Known differences from the official data, which the user accepted."""
    control_hash: str | None = None
    tests: tuple[MemoryTest, ...] = ()
    answers: tuple[MemoryAnswer, ...] = ()


class LeftOut(Record):
    """A task that was not tested, and why."""

    task: str
    reason: str


class MemorisationReport(Record):
    """The result, with every prompt and reply."""

    model: str
    model_arguments: dict[str, Json] = {}
    answered_by: str
    at: str
    package_version: str
    rows: int
    seed: int
    max_tokens: int
    tasks: tuple[TaskMemorisation, ...]
    left_out: tuple[LeftOut, ...]
    questions: int
    input_tokens: int
    output_tokens: int
    cost: float | None


class _Asked(NamedTuple):
    """A task with its questions; a reason instead if there are none."""

    task: Task
    data: PreparedData | None
    control: PreparedData | None
    questions: list[MemoryQuestion]
    reason: str


def measure_memorisation(
    request: MemorisationRequest, price: "ModelCost | None", say: Say
) -> tuple[MemorisationReport, Path]:
    """Ask the model, and write the report; returns it with its file.

    Raises UsageError if the model or the data are missing, and RunFailed("model") if the model does
    not answer.
    """
    from inspect_ai.model import get_model

    choice = request.model
    if choice.name == NO_MODEL:
        raise UsageError("memorisation none: there is no model to ask; name one as PROVIDER/NAME")
    require_model(choice)
    tasks, left_out = _chosen(request.tasks)
    asked = [_asked(task, request, say) for task in tasks]
    model = get_model(choice.name, memoize=False, **choice.arguments)
    replies = _replies(request, model, price, say)
    questions = [question for one in asked for question in one.questions]
    say(f"asking {choice.name} {len(questions):,} questions")
    found = anyio.run(replies.all, [question.prompt for question in questions])
    report = _report(request, asked, left_out, found)
    file = request.out or memorisation_dir() / f"{_slug(choice.name)}-{_stamp(report.at)}.json"
    _write(report, file)
    replies.discard()
    return report, file


def _chosen(names: Sequence[str]) -> tuple[list[Task], list[LeftOut]]:
    """The tasks to test; without names all whose full tier is prepared, and the others."""
    if names:
        return [load_task(name) for name in names], []
    tasks, left_out = [], []
    for task in map(load_task, sorted(task_folders())):
        reason = _unsuitable(task)
        if reason is None and find_prepared(task, "full") is None:
            reason = f"not prepared; run: mlagentbench tasks prepare {task.address} --tier full"
        if reason is None:
            tasks.append(task)
        else:
            left_out.append(LeftOut(task=task.id, reason=reason))
    if not tasks:
        raise UsageError(
            "no full tier with tables or texts is prepared; run: mlagentbench tasks prepare TASK "
            "--tier full, e.g. for house-price"
        )
    return tasks, left_out


def _unsuitable(task: Task) -> str | None:
    """Why a task has no rows that a model could have memorised."""
    spec = task.spec
    if any(source.kind == "generated" for source in spec.sources):
        return "its full tier is generated, so there is no published file to memorise"
    if spec.modality in ("image", "graph"):
        return f"its data are {spec.modality}s, which cannot be completed as text"
    if spec.kind != "predictions":
        return "it has no table with held-out rows"
    return None


def _asked(task: Task, request: MemorisationRequest, say: Say) -> _Asked:
    reason = _unsuitable(task)
    if reason is not None:
        return _Asked(task, None, None, [], reason)
    data = require_prepared(task, "full")
    say(f"{task.id}: choosing rows")
    tables = list(source_tables(data.public, data.private))
    control = ensure_ready(task, "mini", call=call_task, envs=default_envs()).data
    controls = {one.file: one for one in source_tables(control.public, control.private)}
    questions = list(_questions(task, tables, controls, request))
    reason = "" if questions else why_no_questions(tables)
    return _Asked(task, data, control, questions, reason)


def _questions(
    task: Task,
    tables: Sequence[SourceTable],
    controls: dict[str, SourceTable],
    request: MemorisationRequest,
) -> Iterator[MemoryQuestion]:
    """The questions of all tests that apply, about the full tier and about the mini tier."""

    def both(table: SourceTable) -> Iterator[DataSet]:
        yield DataSet(task.id, _source(task), table, control=False)
        if table.file in controls:
            yield DataSet(task.id, _source(task), controls[table.file], control=True)

    hard = hardest(tables)
    if hard is not None:
        for data in both(hard.table):
            yield from cell_questions(data, hard.column.name, request.rows, request.seed)
    for table in tables:
        column = text_column(table)
        for data in both(table):
            if has_distinct_labels(table):
                yield from label_questions(data, request.rows, request.seed)
            if column is not None:
                yield from text_questions(data, column, request.rows, request.seed)


def _source(task: Task) -> str:
    """What a model can know the data set by."""
    if task.spec.variant_of is not None or not task.spec.sources:
        return task.spec.title
    source = task.spec.sources[0]
    place = source.ref if source.kind == "url" else f"{source.kind}: {source.ref}"
    return f"{task.spec.title} ({place})"


def _replies(
    request: MemorisationRequest, model: "Model", price: "ModelCost | None", say: Say
) -> KeptReplies:
    return KeptReplies(
        memorisation_dir() / f"{_slug(request.model.name)}.replies.jsonl",
        model,
        f"{request.model.model_dump_json()}\0{request.max_tokens}",
        max_tokens=request.max_tokens,
        price=price,
        say=say,
    )


def _report(
    request: MemorisationRequest,
    asked: Sequence[_Asked],
    left_out: Sequence[LeftOut],
    replies: Sequence[KeptReply],
) -> MemorisationReport:
    left = iter(replies)
    tasks = [_result(one, [next(left) for _ in one.questions]) for one in asked]
    costs = [one.cost for one in replies if one.cost is not None]
    by = dict.fromkeys(one.answered_by for one in replies if one.answered_by is not None)
    return MemorisationReport(
        model=request.model.name,
        model_arguments=request.model.arguments,
        answered_by="; ".join(by) or who_answers(request.model, {}).answered_by,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        package_version=mlagentbench.__version__,
        rows=request.rows,
        seed=request.seed,
        max_tokens=request.max_tokens,
        tasks=tuple(tasks),
        left_out=tuple(left_out),
        questions=len(replies),
        input_tokens=sum(one.input_tokens for one in replies),
        output_tokens=sum(one.output_tokens for one in replies),
        cost=sum(costs) if costs else None,
    )


def _result(asked: _Asked, replies: Sequence[KeptReply]) -> TaskMemorisation:
    checked = [
        check_reply(question, kept.reply)
        for question, kept in zip(asked.questions, replies, strict=True)
    ]
    tests = memory_tests(checked)
    return TaskMemorisation(
        task=asked.task.id,
        version=asked.task.spec.version,
        verdict=worst(tests),
        reason=asked.reason,
        data_hash=asked.data.hash if asked.data else None,
        verified=asked.data.verified if asked.data else None,
        data_differences=asked.data.accepted if asked.data else (),
        control_hash=asked.control.hash if asked.control else None,
        tests=tuple(tests),
        answers=tuple(_answer(one, kept) for one, kept in zip(checked, replies, strict=True)),
    )


def _answer(checked: CheckedReply, kept: KeptReply) -> MemoryAnswer:
    question = checked.question
    return MemoryAnswer(
        test=question.test,
        control=question.control,
        row=question.row,
        column=question.column,
        prompt=question.prompt,
        reply=checked.reply,
        stop_reason=kept.stop_reason,
        given=checked.given,
        matched=checked.matched,
        expected=None if question.test == "label" else question.expected,
        guesses=question.guesses,
    )


def _write(report: MemorisationReport, file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, f"{report.model_dump_json(indent=2)}\n".encode())
        file.chmod(0o600)
    except OSError as error:
        raise UsageError(
            f"--out {file}: {error.strerror}; the replies are kept, name another file"
        ) from error


def _slug(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in model)


def _stamp(at: str) -> str:
    return "".join(letter for letter in at[:19] if letter.isdigit())
