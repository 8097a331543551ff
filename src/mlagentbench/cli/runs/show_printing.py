"""What `mlagentbench runs show` prints: a run at a glance, or one of its steps in full."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from mlagentbench.analysis.analyse import summarise
from mlagentbench.analysis.disclosures import unenforced_text
from mlagentbench.analysis.rebuilt_text import fresh_text, rebuilt_facts
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.cli.runs.change_printing import print_blocks, print_change, results_of
from mlagentbench.errors import UsageError
from mlagentbench.grading.rungs import rung_of
from mlagentbench.numeric.number_format import (
    counted,
    dollars_text,
    duration_text,
    normalised_text,
    number_text,
    percent_text,
    tokens_text,
)
from mlagentbench.records import GradeRecord
from mlagentbench.report.site.pages.timeline import ReplyView, StepView, Timeline, full_timeline
from mlagentbench.report.site.rendering import finding_name
from mlagentbench.report.site.series import agent_of_summary
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.runs.journal import read_lines
from mlagentbench.runs.lease import Holder
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import find_run
from mlagentbench.statistics.cell_marks import data_marks
from mlagentbench.terminal import Terminal, plain_table, print_json, text_block, text_line

UNDER_WAY = "under way"
STYLES = {
    "ok": "",
    "error": "red",
    "refused": "red",
    "limit": "yellow",
    "interrupted": "yellow",
    UNDER_WAY: "cyan",
}
_STEP: TypeAdapter[StepView] = TypeAdapter(StepView)


def print_run(path: Path, step: int | None, *, as_json: bool) -> None:
    """Print a run, or one of its steps; a UsageError when there is no such step."""
    run = find_run(path)
    summary = summarise(run, str(run.out))
    lines = read_lines(run.journal) if run.journal.exists() else []
    told = full_timeline(lines, summary, ObjectStore(run.objects))
    if run.holder is not None:
        told = replace(told, steps=tuple(map(_under_way, told.steps)))
    console = Terminal()
    if step is not None:
        one = _chosen(path, told, step)
        if as_json:
            print_json(_STEP.dump_python(one, mode="json"))
        else:
            _print_step(console, one)
    elif as_json:
        steps = [_STEP.dump_python(one, mode="json") for one in told.steps]
        print_json({"summary": summary.model_dump(mode="json"), "steps": steps})
    else:
        _print_overview(console, summary, told, run.holder)


def _under_way(step: StepView) -> StepView:
    """Of a run that is at work: the step that has not ended is under way."""
    return replace(step, status=UNDER_WAY) if step.observation is None else step


def _chosen(path: Path, told: Timeline, number: int) -> StepView:
    found = [step for step in told.steps if step.n == number]
    if not found:
        last = told.steps[-1].n if told.steps else 0
        there = f"its steps are 1 to {last}" if last else "it has taken none"
        raise UsageError(f"--step {number}: {path} has no such step; {there}")
    return found[-1]


def _print_overview(
    console: Terminal, summary: RunSummary, told: Timeline, holder: Holder | None
) -> None:
    for line in run_header(summary):
        console.print(line, soft_wrap=True)
    if holder is not None:
        console.print(text_line(f"in progress: {holder.described}", STYLES[UNDER_WAY]))
    console.print()
    findings = ["findings"] if any(step.findings for step in told.steps) else []
    table = plain_table("step", "action", "time", "result", *findings, right=("step", "time"))
    for step in told.steps:
        found = ", ".join(dict.fromkeys(map(finding_name, step.findings)))
        table.add_row(
            str(step.n),
            text_line(f"{step.action} {step.subject}".rstrip()),
            duration_text(step.seconds),
            text_line(", ".join(_results(step)), STYLES[step.status]),
            *([text_line(found, "yellow")] if findings else []),
        )
    console.print(table)
    for event in told.last_events:
        console.print(f"then: {event}")
    for reply in told.final_replies:
        console.print(f"last reply ({reply.role}): {reply.preview}")


def run_header(summary: RunSummary) -> Iterator[str]:
    """A run in a few lines: what it is, how it ended, what it is worth and what it used."""
    result, efficiency = summary.result, summary.efficiency
    facts, grade = result.record.disclosure, result.grade
    profile = "" if facts.profile is None else f", {facts.profile} profile"
    what = f"{facts.task} ({facts.tier}{profile})"
    yield f"{what}: {agent_of_summary(summary)}, run {result.record.epoch}"
    if result.record.replay_of is not None:
        yield f"a replay of {result.record.replay_of}, not a result"
    if result.record.branched_from is not None:
        point = result.record.branched_from
        edited = "" if point.edited is None else ", whose observation was edited"
        yield f"branched from {point.run} after step {point.step}{edited}"
    if not facts.execution:
        yield "no execution: the agent could only list, read, write and edit files"
    outcome = "not ended" if result.outcome is None else result.outcome.kind
    cause = cause_of(result)
    yield f"outcome: {outcome}" + ("" if cause.reason == outcome else f" ({cause.reason})")
    if grade is not None and grade.score is not None:
        success = {True: "success", False: "no success", None: "success unknown"}[grade.success]
        score = f"{facts.metric} {number_text(grade.score)} ({facts.better} is better)"
        yield f"score: {score}, normalised {normalised_text(grade.normalised)}, {success}"
    else:
        yield f"score: none ({'not graded' if grade is None else grade.reason})"
    if grade is not None:
        yield from _rung(grade)
    if result.rebuilt is not None:
        yield f"{fresh_text(len(result.rebuilt.fresh))}:"
        yield from (f"  {name}: {text}" for name, text in rebuilt_facts(result.rebuilt))
    used = [counted(result.usage.steps, "step"), duration_text(efficiency.working_seconds)]
    if efficiency.tokens:
        used.append(f"{tokens_text(efficiency.tokens)} tokens")
    if efficiency.cost is not None:
        used.append(dollars_text(efficiency.cost))
    yield f"used: {', '.join(used)}"
    if facts.unenforced_rules:
        yield f"unenforced rules: {unenforced_text(result.record)}"
    yield from (f"note: {mark}" for mark in (*data_marks(facts), *summary.marks))


def _rung(grade: GradeRecord) -> Iterator[str]:
    share = grade.ceiling_share
    way = "" if share is None else f", {percent_text(share)} % of the way from floor to ceiling"
    yield f"rung: {rung_of(grade)}{way}"
    if grade.rung_note is not None:
        yield f"  {grade.rung_note}"


def _results(step: StepView) -> Iterator[str]:
    """How a step ended, unless well, and what was measured in it."""
    if step.status != "ok":
        yield step.status
    yield from results_of(step.validations, step.point)


def _print_step(console: Terminal, step: StepView) -> None:
    ended = [step.status]
    if step.exit_code:
        ended.append(f"exit code {step.exit_code}")
    if step.limit:
        ended.append(f"limit on {step.limit}")
    began = f"began after {duration_text(step.clock)}"
    console.print(text_line(f"step {step.n}: {step.action} {step.subject}".rstrip(), "bold"))
    console.print(f"{', '.join(ended)}; took {duration_text(step.seconds)}, {began}")
    results = results_of(step.validations, step.point)
    for text in (*results, *step.events, *(f"snapshot: {note}" for note in step.notes)):
        console.print(text)
    for finding in step.findings:
        console.print(text_line(f"finding: {finding_name(finding)}: {finding.detail}", "yellow"))
    for reply in step.replies:
        _print_reply(console, reply)
    for argument in step.arguments:
        console.heading(f"argument {argument.name}")
        console.print(text_block(argument.value.head), soft_wrap=True)
    console.heading("observation")
    goes_on = step.status == UNDER_WAY
    never = "the action is under way" if goes_on else "the action was begun and never ended"
    shown = (
        text_line(never, "dim") if step.observation is None else text_block(step.observation.head)
    )
    console.print(shown, soft_wrap=True)
    if step.change.files or step.change.missing:
        console.heading("changes in the workspace")
        print_change(console, step.change)


def _print_reply(console: Terminal, reply: ReplyView) -> None:
    fault = f", {reply.fault}" if reply.fault else ""
    console.heading(f"reply ({reply.role}, {tokens_text(reply.tokens)} tokens{fault})")
    console.print(text_block(reply.text.head), soft_wrap=True)
    if reply.plan is not None:
        console.heading("plan" if reply.plan.first else "changes to the plan")
        print_blocks(console, reply.plan.blocks, reply.plan.left_out)
