"""What a run took, from the lines of its journal."""

from typing import Any

from mlagentbench.analysis.efficiency import efficiency_of
from mlagentbench.analysis.run_summary import RunEfficiency
from mlagentbench.records import Action, Observation, Outcome, Usage
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    EventLine,
    History,
    OutcomeLine,
    ReplyLine,
    RunLine,
)


class Made:
    """A journal under construction; `at` is the time of day of the next line."""

    def __init__(self) -> None:
        self.lines: list[AnyLine] = []
        self.add(
            RunLine, at=100.0, task="t", task_version=1, tier="mini", data_hash="-", actions=(),
            limits={}, snapshot="0",
        )  # fmt: skip

    def add(self, line_type: type[Any], at: float, **fields: Any) -> None:
        self.lines.append(line_type(n=len(self.lines), at=at, clock=at - 100.0, **fields))

    def reply(self, at: float, role: str = "main", **fields: Any) -> None:
        self.add(ReplyLine, at, step=1, role=role, prompt_hash="-", reply="-", **fields)

    def step(self, at: float, action: str, seconds: float, usage: Usage | None = None) -> None:
        number = sum(isinstance(line, EndLine) for line in self.lines) + 1
        self.add(BeginLine, at, step=number, action=Action(name=action))
        self.add(
            EndLine, at + seconds, step=number, observation=Observation(text="-"), snapshot="0",
            started=at, seconds=seconds, usage=usage,
        )  # fmt: skip

    def end(self, at: float, usage: Usage) -> None:
        self.add(OutcomeLine, at, outcome=Outcome(kind="submitted"), snapshot="0", usage=usage)

    def efficiency(self) -> RunEfficiency:
        return efficiency_of(self.lines, History(self.lines))


def test_time_is_told_apart_by_who_used_it() -> None:
    made = Made()
    made.reply(103.0, seconds=3.0)
    made.step(103.5, "Execute Script", 4.0)
    made.step(108.0, "python_repl", 1.0)
    made.step(109.5, "List Files", 0.5)
    made.end(111.0, Usage(steps=3, seconds=9.0))
    took = made.efficiency()
    assert (took.wall_seconds, took.working_seconds) == (11.0, 11.0)
    assert (took.model_seconds, took.script_seconds, took.harness_seconds) == (3.0, 5.0, 3.0)
    assert took.steps == 3


def test_the_time_between_a_stop_and_its_resumption_does_not_count() -> None:
    made = Made()
    made.step(101.0, "Execute Script", 2.0)
    made.add(EventLine, 5000.0, event="resumed")
    made.step(5001.0, "Execute Script", 2.0)
    made.add(OutcomeLine, 5004.0, outcome=Outcome(kind="interrupted"), snapshot="0", usage=Usage())
    made.add(EventLine, 9000.0, event="resumed")
    made.end(9001.0, Usage(steps=2))
    assert made.efficiency().wall_seconds == 3.0 + 4.0 + 1.0


def test_where_a_reply_does_not_say_its_time_the_models_time_is_unknown() -> None:
    made = Made()
    made.reply(101.0, seconds=1.0)
    made.reply(102.0, role="edit")
    made.end(103.0, Usage())
    took = made.efficiency()
    assert took.model_seconds is None and took.harness_seconds is None
    assert {role.role: role.seconds for role in took.roles} == {"main": 1.0, "edit": None}


def test_without_a_model_its_time_is_none_at_all_and_not_unknown() -> None:
    made = Made()
    made.end(101.0, Usage())
    assert made.efficiency().model_seconds == 0.0


def test_tokens_and_money_by_role_and_what_programs_asked() -> None:
    made = Made()
    made.reply(
        101.0, input_tokens=100, cached_tokens=40, output_tokens=20, reasoning_tokens=5, cost=0.5
    )
    made.reply(102.0, input_tokens=200, output_tokens=10, cost=0.25)
    made.reply(103.0, role="edit", input_tokens=7, output_tokens=3)
    used = Usage(steps=1, seconds=4.0, input_tokens=1307, output_tokens=83, cost=0.75)
    made.step(104.0, "Execute Script", 1.0, used)
    made.end(106.0, used)
    took = made.efficiency()
    main, edit, tool = took.roles
    assert (main.role, main.replies, main.input_tokens, main.output_tokens) == ("main", 2, 300, 30)
    assert (main.cached_tokens, main.reasoning_tokens, main.cost) == (40, 5, 0.75)
    assert (edit.role, edit.cost) == ("edit", None)
    assert (tool.role, tool.replies, tool.input_tokens, tool.output_tokens) == (
        "tool", None, 1000, 50,
    )  # fmt: skip
    assert (took.input_tokens, took.output_tokens, took.tokens) == (1307, 83, 1390)
    assert (took.cached_tokens, took.reasoning_tokens, took.cost) == (40, 5, 0.75)


def test_a_run_that_never_began_took_nothing() -> None:
    took = efficiency_of([], History([]))
    assert (took.wall_seconds, took.steps, took.tokens, took.cost) == (0.0, 0, 0, None)
