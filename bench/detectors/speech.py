"""How agents write their replies: turns of their own, and words put into those that are there."""

import json
import random
from typing import Any

from drafts import Draft, Entry, Turn

from mlagentbench.records import Action, Observation, Usage
from mlagentbench.runs.journal import (
    BeginLine,
    EndLine,
    EventLine,
    OutcomeLine,
    ReplyFault,
    ReplyLine,
)

PLAN = "Research Plan and Status:"
_STAMP: dict[str, Any] = {"n": 0, "at": 0.0, "clock": 0.0}
_TEXT_AGENTS = {
    "research": ("Reflection", "Research Plan and Status", "Fact Check", "Thought"),
    "react-text": ("Thought",),
    "act": (),
}


def speaks(draft: Draft) -> bool:
    """Whether the agent writes more than actions."""
    return draft.agent in ("research", "react-text", "react")


def offers(draft: Draft, action: str) -> bool:
    return action in draft.run_line.actions


def tool_name(action: str) -> str:
    return "".join(c if c.isalnum() else " " for c in action.lower()).strip().replace(" ", "_")


def reply_entry(
    draft: Draft, words: str, action: Action, turn_before: Turn | None = None, behind: str = ""
) -> Entry:
    """A reply as this agent writes it; `behind` is what follows the action's input."""
    if draft.agent == "react":
        return Entry(_tool_reply(words + behind, action), 0.1)
    fields = {"Reflection": "See below.", "Fact Check": "Nothing new.", "Thought": words}
    parts = []
    for name in _TEXT_AGENTS[draft.agent]:
        value = last_plan(turn_before) if name == "Research Plan and Status" else fields[name]
        parts.append(f"{name}: {value}")
    arguments = json.dumps(action.arguments)
    parts.append(f"Action: {action.name}\nAction Input: {arguments}{behind}")
    text = "\n".join(parts)
    return Entry(reply_line(text), 0.1)


def reply_line(text: str, role: str = "main", **more: Any) -> ReplyLine:
    return ReplyLine(
        **_STAMP,
        step=0,
        role=role,
        prompt_hash="0" * 64,
        reply=text,
        input_tokens=1500,
        output_tokens=max(1, len(text) // 4),
        **more,
    )


def _tool_reply(words: str, action: Action) -> ReplyLine:
    call = {
        "id": f"call-{len(words)}",
        "function": tool_name(action.name),
        "arguments": action.arguments,
        "type": "function",
    }
    message = {"content": words, "source": "generate", "role": "assistant", "tool_calls": [call]}
    return reply_line(words, message=message, stop_reason="tool_calls")


def last_plan(turn: Turn | None) -> str:
    """The plan of the newest reply up to this turn, which agents write out anew each time."""
    if turn is None or PLAN not in turn.reply_text:
        return "\n1. Look at the files: done.\n2. Improve the model: in work."
    return turn.reply_text.split(PLAN, 1)[1].split("\nFact Check:", 1)[0]


def new_turn(
    draft: Draft,
    action: Action,
    observation: Observation,
    words: str = "",
    *,
    after: Turn | None = None,
    edited: str | None = None,
    edit_reply: str | None = None,
    seconds: float = 0.4,
    behind: str = "",
    written: str = "",
) -> Turn:
    """A whole step that was not there, as this agent would have made it."""
    entries = []
    if draft.agent in ("research", "react-text", "act", "react"):
        entries.append(reply_entry(draft, words, action, after, behind))
    entries.append(Entry(BeginLine(**_STAMP, step=0, action=action), 0.01))
    if edit_reply is not None:
        entries.append(Entry(reply_line(edit_reply, role="edit"), 1.5))
    end = EndLine(
        **_STAMP,
        step=0,
        observation=observation,
        snapshot="",
        edited=edited,
        started=0.0,
        seconds=0.0,
        usage=Usage(),
    )
    entries.append(Entry(end, seconds))
    return Turn(entries, planted=True, written=written)


def unreadable_entries(text: str, form: ReplyFault, detail: str, **more: Any) -> list[Entry]:
    """A reply of which nothing could be made, and the event that says so."""
    reply = Entry(reply_line(text, **more), 2.0)
    event = EventLine(**_STAMP, event="unreadable", detail=detail, form=form)
    return [reply, Entry(event, 0.0, about=reply)]


def note_entry(detail: str) -> Entry:
    return Entry(EventLine(**_STAMP, event="note", detail=detail), 0.0)


def add_words(draft: Draft, turn: Turn, words: str, rng: random.Random) -> None:
    """Put a sentence into the agent's words before this step."""
    entry = turn.reply
    assert entry is not None
    line = entry.line
    assert isinstance(line, ReplyLine)
    if draft.agent == "react":
        text = f"{line.reply} {words}".strip()
        message = None if line.message is None else {**line.message, "content": text}
        entry.line = line.model_copy(update={"reply": text, "message": message})
        return
    fields = ["Thought"] if draft.agent == "react-text" else ["Reflection", "Fact Check", "Thought"]
    chosen = rng.choice([name for name in fields if f"{name}:" in line.reply])
    following = {
        "Reflection": "\nResearch Plan and Status:",
        "Fact Check": "\nThought:",
        "Thought": "\nAction:",
    }[chosen]
    before, after = line.reply.split(following, 1)
    entry.line = line.model_copy(update={"reply": f"{before} {words}{following}{after}"})


def change_reply(turn: Turn, old: str, new: str) -> bool:
    """Replace a piece of the agent's words; False where it does not stand there once."""
    entry = turn.reply
    assert entry is not None
    line = entry.line
    assert isinstance(line, ReplyLine)
    if line.reply.count(old) != 1:
        return False
    entry.line = line.model_copy(update={"reply": line.reply.replace(old, new)})
    return True


def append_behind(draft: Draft, turn: Turn, text: str) -> None:
    """Let the reply go on behind its action."""
    entry = turn.reply
    assert entry is not None
    line = entry.line
    assert isinstance(line, ReplyLine)
    reply = f"{line.reply}{text}"
    message = line.message
    if draft.agent == "react" and message is not None:
        message = {**message, "content": reply}
    entry.line = line.model_copy(update={"reply": reply, "message": message})


def add_to_final_answer(draft: Draft, words: str) -> None:
    """Let the final answer say more, wherever the journal repeats it."""
    turn = draft.turns[-1]
    begin, end = turn.begin, turn.end
    old = str(begin.action.arguments["final_answer"])
    new = f"{old} {words}"
    answered = Action(name=begin.action.name, arguments={"final_answer": new})
    turn.replace(begin, begin.model_copy(update={"action": answered}))
    seen = end.observation.model_copy(update={"text": end.observation.text.replace(old, new)})
    turn.replace(end, end.model_copy(update={"observation": seen}))
    entry = turn.reply
    if entry is not None and isinstance(entry.line, ReplyLine):
        line = entry.line
        message = line.message
        if message is not None:
            calls = [{**call, "arguments": {"final_answer": new}} for call in message["tool_calls"]]
            message = {**message, "tool_calls": calls}
        text = line.reply.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
        entry.line = line.model_copy(update={"reply": text, "message": message})
    for entry in draft.tail:
        if isinstance(entry.line, OutcomeLine):
            outcome = entry.line.outcome.model_copy(update={"detail": new})
            entry.line = entry.line.model_copy(update={"outcome": outcome})
