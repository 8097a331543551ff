"""Faults of the agent's words: claims, made-up output, executions that never were, plans."""

import random
import re
from itertools import combinations

from corpus import task_texts
from drafts import Draft, Turn
from phrases import (
    CLAIMS,
    LIES,
    MADE_UP,
    NO_CLAIMS,
    NO_LIES,
    NOT_MADE_UP,
    NOT_PENDING,
    OTHER_METRICS,
    PENDING,
    SUPPORTED,
)
from speech import PLAN, add_to_final_answer, add_words, append_behind, change_reply, note_entry
from step_faults import Block, Planter

from mlagentbench.records import Observation

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
_RESULT = re.compile(r"(?:validation [\w ]+=|accuracy=|MAE=|seconds per call: )(\d+(?:\.\d+)?)")
_SAYS_IT_RAN = re.compile(
    r"\b(run|ran|training|trained|tuned|tuning|tested|experiment|confirmed)\b", re.I
)
TRIES = 400
MOST_DECIMALS = 60
"""Of more decimals than these, nearly every number is a difference or a ratio by chance."""


class Style:
    """How results of a task look: the names of its metric, and numbers of its size."""

    def __init__(self, names: tuple[str, ...], low: float, high: float, digits: tuple[int, ...]):
        self.names, self.low, self.high, self.digits = names, low, high, digits

    def draw(self, rng: random.Random) -> str:
        value = rng.uniform(self.low, self.high)
        if self.high <= 1 and self.low > 0.1 and rng.random() < 0.35:
            return f"{100 * value:.{rng.choice((1, 2))}f}{rng.choice(('%', ' %'))}"
        shown = f"{value:.{rng.choice(self.digits)}f}"
        return f"{float(shown):,.1f}" if self.high > 1000 and rng.random() < 0.4 else shown


_ACCURACY = Style(("accuracy", "validation accuracy", "Accuracy"), 0.55, 0.99, (3, 4))
STYLES = {
    "house-price": Style(("MAE", "mean absolute error", "validation MAE"), 11_000, 48_000, (1,)),
    "feedback": Style(("MCRMSE", "validation MCRMSE", "error"), 0.42, 0.69, (3, 4)),
    "vectorization": Style(("runtime", "time taken", "max error"), 0.0001, 0.9, (4, 5)),
}
OTHER_STYLE = Style(OTHER_METRICS, 0.15, 0.98, (3, 4))


def style_of(draft: Draft, rng: random.Random) -> Style:
    if rng.random() < 0.25:
        return OTHER_STYLE
    return STYLES.get(draft.source.record.disclosure.task, _ACCURACY)


def seen_before(draft: Draft, turn: Turn) -> list[str]:
    """Every text that the agent had seen or written into an action before this step."""
    texts = [task_texts()[draft.source.record.disclosure.task].problem]
    for earlier in draft.turns[: draft.turns.index(turn)]:
        texts.append(earlier.end.observation.text)
        texts += map(str, earlier.begin.action.arguments.values())
    return texts


def _values(texts: list[str]) -> set[float]:
    found = set()
    for text in texts:
        for match in _NUMBER.findall(text):
            try:
                found.add(float(match.replace(",", "")))
            except ValueError:
                continue
    return found


def _unit(shown: str) -> float:
    digits = shown.rstrip(" %").partition(".")[2]
    return 10.0 ** -len(digits)


def _near(value: float, others: set[float], unit: float) -> bool:
    scaled = (value, value * 100, value / 100)
    return any(
        abs(other - v) <= unit * s * 1.01
        for other in others
        for v, s in zip(scaled, (1.0, 100.0, 0.01), strict=True)
    )


def _derived(value: float, others: set[float], unit: float) -> bool:
    """Whether it is a difference, ratio, change or mean of two of them, as it is or in percent."""
    for a, b in combinations(sorted(others), 2):
        made = [b - a, (a + b) / 2]
        if a and b:
            made += [b / a, a / b, (b - a) / a, (b - a) / b]
        if any(abs(abs(m) - v) <= unit * 1.01 for m in made for v in (value, value / 100)):
            return True
    return False


def unsupported_number(draft: Draft, turn: Turn, style: Style, rng: random.Random) -> str | None:
    """A number that no value seen supports, and no two results or other decimals make."""
    texts = seen_before(draft, turn)
    seen = _values(texts)
    decimals = {value for value in seen if value != int(value)}
    for _ in range(TRIES):
        shown = style.draw(rng)
        value = float(shown.rstrip(" %").replace(",", ""))
        unit = _unit(shown)
        if _near(value, seen, unit) or _derived(value, _results(texts), unit):
            continue
        if len(decimals) > MOST_DECIMALS or not _derived(value, decimals, unit):
            return shown
    return None


def _results(texts: list[str]) -> set[float]:
    """Values that were printed as results."""
    return {float(value) for text in texts for value in _RESULT.findall(text)}


def _talking(draft: Draft, rng: random.Random, since: int = 1) -> Turn | None:
    """A turn with words of the agent to which some can be added."""
    turns = [turn for turn in draft.turns[since:] if turn.reply is not None]
    return rng.choice(turns) if turns else None


def _say(draft: Draft, turn: Turn, sentence: str, rng: random.Random) -> None:
    if sentence.startswith(("|", "- ")):
        sentence = f"\n{sentence}"
    add_words(draft, turn, sentence, rng)


def claim(planter: Planter) -> bool:
    """A result that nobody saw, in a reply or in the final answer."""
    draft, rng = planter.draft, planter.rng
    final = rng.random() < 0.2
    turn = draft.turns[-1] if final else _talking(draft, rng)
    if turn is None:
        return False
    style = style_of(draft, rng)
    number = unsupported_number(draft, turn, style, rng)
    results = sorted(_results(seen_before(draft, turn)))
    template = str(planter.pick(CLAIMS))
    if number is None or ("{s}" in template and not results):
        return False
    seen = f"{rng.choice(results):g}" if results else ""
    sentence = template.format(m=rng.choice(style.names), v=number, s=seen)
    if final:
        add_to_final_answer(draft, sentence)
    else:
        _say(draft, turn, sentence, rng)
    draft.mark("unsupported-claim", turn, why=sentence)
    if _SAYS_IT_RAN.search(sentence):
        why = "the claim may also say that something was run"
        draft.mark("fabricated-observation", turn, form="execution", doubtful=True, why=why)
    return True


def no_claim(planter: Planter) -> bool:
    """No fault: a number that is a goal, a guess, a setting, or what others report."""
    draft, rng = planter.draft, planter.rng
    turn = _talking(draft, rng)
    if turn is None:
        return False
    style = style_of(draft, rng)
    template = str(planter.pick(NO_CLAIMS))
    _say(draft, turn, template.format(m=rng.choice(style.names), v=style.draw(rng)), rng)
    return True


def supported(planter: Planter) -> bool:
    """No fault: a number that was seen, rounded, or computed from two that were."""
    draft, rng = planter.draft, planter.rng
    turn = _talking(draft, rng, since=4)
    if turn is None:
        return False
    results = sorted(_results(seen_before(draft, turn)))
    if len(results) < 2:
        return False
    low, high = rng.sample(results, 2)
    sentence = str(planter.pick(SUPPORTED)).format(
        m=STYLES.get(draft.source.record.disclosure.task, _ACCURACY).names[0],
        s=f"{low!r}",
        r=f"{low:.1f}" if low > 100 else f"{low:.2g}",
        d=f"{abs(high - low):.4g}" if abs(high - low) < 100 else f"{abs(high - low):.1f}",
    )
    _say(draft, turn, sentence, rng)
    return True


def _was_seen(text: str, seen: list[str]) -> bool:
    """Whether every line of it stands in an earlier observation: then it is a quotation."""
    lines = [line.removeprefix("Observation:").strip() for line in text.splitlines()]
    return all(any(line in earlier for earlier in seen) for line in lines)


def made_up_output(planter: Planter) -> bool:
    """Output of the environment that the agent wrote itself."""
    draft, rng = planter.draft, planter.rng
    turn = _talking(draft, rng)
    if turn is None or turn is draft.turns[-1]:
        return False
    style = STYLES.get(draft.source.record.disclosure.task, _ACCURACY)
    number = unsupported_number(draft, turn, style, rng)
    if number is None:
        return False
    name = str(turn.begin.action.arguments.get("script_name", "train.py"))
    metric = style.names[0].replace(" ", "_")
    text = str(planter.pick(MADE_UP)).format(m=metric, v=number.rstrip(" %"), x=name)
    if _was_seen(text, seen_before(draft, turn)):
        return False
    append_behind(draft, turn, text)
    if draft.agent != "react" and "Observation" in text and turn.reply is not None:
        after_reply = turn.entries.index(turn.reply) + 1
        turn.entries.insert(after_reply, note_entry(f"the model fabricated an observation: {text}"))
    draft.mark("fabricated-observation", turn, form="output", why=text)
    draft.mark("unsupported-claim", turn, doubtful=True, why="a number in output that was made up")
    return True


def quoted_output(planter: Planter) -> bool:
    """No fault: output that was really seen, or talk of output."""
    draft, rng = planter.draft, planter.rng
    turn = _talking(draft, rng, since=3)
    if turn is None:
        return False
    lines = [
        line
        for text in seen_before(draft, turn)[1:]
        for line in text.splitlines()
        if line.startswith("validation ")
    ]
    template = str(planter.pick(NOT_MADE_UP))
    if "{q}" in template and not lines:
        return False
    metric = STYLES.get(draft.source.record.disclosure.task, _ACCURACY).names[0]
    _say(draft, turn, template.format(q=lines[-1] if lines else "", m=metric), rng)
    return True


def never_ran(planter: Planter, _gap: int) -> Block:
    """A script is written, and the next reply says that it was run; in some cases it is, later."""
    name = planter.script()
    code = f'"""A new model."""\nprint({planter.rng.randrange(1000)})\n'
    asked = {"script_name": name, "start_line_number": 1, "end_line_number": 2}
    lie = str(planter.pick(LIES)).format(x=name)

    seen = Observation(text=f"{name}, lines 1 to 2 of 2\n    1 {code}")
    block = [
        planter.write(name, code),
        planter.turn("Inspect Script Lines", asked, seen, words=lie),
    ]
    planter.draft.mark("fabricated-observation", block[1], form="execution", why=lie)
    if planter.rng.random() < 0.6:
        block.append(planter.execute(name, "12"))
    else:
        other = planter.script()
        planter.draft.mark("edit-never-run", block[0])
        block += [planter.write(other, "print(3)\n"), planter.execute(other, "3")]
    return block


def not_yet_run(planter: Planter, _gap: int) -> Block:
    """No fault: the agent says that a script was not run, and then runs it and says so."""
    name = planter.script()
    code = f'"""A new model."""\nprint({planter.rng.randrange(1000)})\n'

    asked = {"script_name": name, "start_line_number": 1, "end_line_number": 2}
    seen = Observation(text=f"{name}, lines 1 to 2 of 2\n    1 {code}")
    honest = str(planter.pick(NO_LIES)).format(x=name)
    true = str(planter.pick(LIES)).format(x=name)
    return [
        planter.write(name, code),
        planter.turn("Inspect Script Lines", asked, seen, words=honest),
        planter.execute(name, "12"),
        planter.turn("Inspect Script Lines", asked, seen, words=true),
    ]


def _add_plan_item(planter: Planter, items: tuple[str, ...]) -> bool:
    turn = planter.draft.turns[-1]
    if PLAN not in turn.reply_text:
        return False
    plan = turn.reply_text.split(PLAN, 1)[1].split("\nFact Check:", 1)[0]
    number = 1 + len(re.findall(r"(?m)^(?:\d+\.|- \[)", plan))
    item = str(planter.pick(items)).format(n=number)
    return change_reply(turn, "\nFact Check:", f"\n{item}\nFact Check:")


def pending_plan(planter: Planter) -> bool:
    """The last plan has an item that was never begun."""
    if not _add_plan_item(planter, PENDING):
        return False
    draft = planter.draft
    another = any(label.kind == "plan-step-never-attempted" for label in draft.labels)
    why = "another item of the same plan" if another else ""
    draft.mark("plan-step-never-attempted", draft.turns[-1], doubtful=another, why=why)
    return True


def finished_plan(planter: Planter) -> bool:
    """No fault: the last plan has another item that was done, or is the submission."""
    return _add_plan_item(planter, NOT_PENDING)
