"""Long texts for models: questions about them block by block, and shortened texts."""

import json
from collections.abc import Sequence

from mlagentbench.environment.ask_models import FAST, AsksText
from mlagentbench.prompts import prompt
from mlagentbench.records import Step

BLOCK = 10_000
"""Characters of one block."""
MOST_BLOCKS = 20
"""The most blocks of one text; the middle of a longer one is omitted."""
MOST_ARGUMENTS = 600
"""Characters of a past action's arguments that are shown."""
MOST_OBSERVED = 1_500
"""Characters of a past observation that are shown."""


async def summarise_long(models: AsksText, text: str, question: str, block: int = BLOCK) -> str:
    """The fast model's answer to a question about a text; empty for an empty text.

    Each block takes one call, and merging the answers of several blocks another one.
    """
    shown = clipped(text, block * MOST_BLOCKS)
    parts = [shown[start : start + block] for start in range(0, len(shown), block)]
    answers = []
    for number, part in enumerate(parts, start=1):
        place = "" if len(parts) == 1 else f" (part {number} of {len(parts)})"
        asked = prompt("actions/summarise_block", question=question, place=place, text=part)
        answers.append((await models.ask_text(asked, role=FAST)).strip())
    if len(answers) < 2:
        return "".join(answers)
    numbered = (f"Part {number}:\n{answer}" for number, answer in enumerate(answers, start=1))
    merging = prompt("actions/summarise_merge", question=question, answers="\n\n".join(numbered))
    return (await models.ask_text(merging, role=FAST)).strip()


def clipped(text: str, size: int) -> str:
    """The text, or its beginning and end, so that it has at most this size."""
    if len(text) <= size:
        return text
    note = f"\n[... {len(text) - size:,} of {len(text):,} characters left out ...]\n"
    kept = max(0, size - len(note))
    end = len(text) - kept // 2
    return f"{text[: kept - kept // 2]}{note}{text[end:]}"


def step_text(step: Step) -> str:
    """A past step for a model: its action and observation, both shortened if long."""
    arguments = clipped(json.dumps(step.action.arguments, ensure_ascii=False), MOST_ARGUMENTS)
    observed = clipped(step.observation.text, MOST_OBSERVED)
    status = "" if step.observation.status == "ok" else f" ({step.observation.status})"
    return f"Step {step.n}: {step.action.name} {arguments}\nObservation{status}: {observed}"


def steps_text(steps: Sequence[Step], size: int) -> str:
    """The last steps in order, as many as fit into so many characters."""
    shown: list[str] = []
    for step in reversed(steps):
        words = step_text(step)
        size -= len(words)
        if size < 0:
            shown.append(f"[Steps 1 to {step.n} are left out.]")
            break
        shown.append(words)
    return "\n\n".join(reversed(shown))
