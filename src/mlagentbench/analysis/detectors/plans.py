"""The plan that an agent writes down: how often it changed, and which items were never tried."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from mlagentbench.analysis.detectors.parsing.reply_parts import ReplyParts
from mlagentbench.analysis.detectors.parsing.step_facts import ActionName, action_of
from mlagentbench.analysis.findings import Finding
from mlagentbench.runs.journal import History

_ITEM = re.compile(
    r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.):]|step \d{1,2}\b:?)[ \t]*(?P<text>\S.*)$", re.I | re.M
)
_NOT_ATTEMPTED = re.compile(
    r"""(?<!\bdo\ )\b(?:not|never)\ (?:(?:yet|been|even|be|got|gotten)\ )*
          (?:done|begun|started|tried|attempted|carried\ out|executed|performed|implemented|tested
          |run|explored|touched|reached|looked\ (?:at|into)|to\ it)\b
      | \b(?:did\ not|didn['’]t)\ (?:yet\ )?(?:get\ to|try|do|start|begin|attempt|run|reach)\b
      | \b(?:has|have|was)n['’]t\ (?:been\ )?(?:done|begun|started|tried|attempted|run|tested)\b
      | \bun(?:attempted|tried|started|done|touched|begun|explored)\b
      | \b(?:pending|outstanding|upcoming|to-?\ ?do|tbd|no\ attempt)\b | \bnot\ yet\W*\Z
      | \bto\ be\ (?:done|tried|run|started|implemented|explored)\b
      | \b(?:yet|still)\ to\ (?:do|try|come|run|start)\b
      | \bstill\ (?:open|waiting)\b | \bleft\ (?:for\ later|open)\b | \A\[\s?\] | ☐""",
    re.IGNORECASE | re.VERBOSE,
)
_DONE = re.compile(
    r"\b(?:done|completed?|finished|tried|dropped|skipped|abandoned|given up|ruled out|no longer|"
    r"not needed|unnecessary|kept|taken back)\b|\[x\]|✓|✅",
    re.IGNORECASE,
)
_NOTHING_LEFT = re.compile(
    r"\b(?:nothing|none|no(?:thing)? (?:more|else|further))\b[^.]{0,30}$", re.I
)
_SUBMITTING = re.compile(
    r"\b(?:submit\w*|submission|final answer|hand(?:ed)? in|finali[sz]e)\b", re.I
)
_STATUS = re.compile(
    r"\s*(?:\((?:new|done|in progress|pending|not [^)]*|changed)[^)]*\)|\[[^\]]*\]"
    r"|[-–—]?\s*\b(?:not |un|in pro|pending|done|complete|to-?do|now|next|status\b|script edited"
    r"|tried)|[:(=]).*",
    re.IGNORECASE | re.DOTALL,
)


def plan_changes(replies: Sequence[ReplyParts]) -> int | None:
    """How often the plan's items changed, apart from their status; unknown without a plan."""
    changes: int | None = None
    before: list[frozenset[str]] = []
    for reply in replies:
        items = [_words_of_intent(item) for item in plan_items(reply.plan)]
        if not items:
            continue
        if changes is None:
            changes = 0
        elif len(items) != len(before) or not all(_is_among(item, before) for item in items):
            changes += 1
        before = items
    return changes


@lru_cache(maxsize=4096)
def _words_of_intent(item: str) -> frozenset[str]:
    """Cached, because each reply repeats most items of the plan."""
    return frozenset(re.findall(r"\w+", _intent(item)))


def _is_among(item: frozenset[str], items: list[frozenset[str]]) -> bool:
    """Whether this item shares half of its words with one of the items."""
    return any(2 * len(item & other) >= min(len(item), len(other)) for other in items)


def plan_items(plan: str | None) -> list[str]:
    """The numbered or bulleted items; all lines of a plan without any."""
    if plan is None:
        return []
    items = [found["text"].strip() for found in _ITEM.finditer(plan)]
    return items or [line.strip() for line in plan.splitlines() if line.strip()]


def _intent(item: str) -> str:
    """An item without its status."""
    item = re.sub(r"\A\W*\(?new\)?:?\s", "", item, flags=re.IGNORECASE)
    first = re.split(r"(?<=[a-z)])\.(?:\s|$)", item, maxsplit=1)[0]
    return " ".join(_STATUS.sub("", first).lower().split()) or first.lower()


def steps_never_attempted(history: History, replies: Sequence[ReplyParts]) -> Iterator[Finding]:
    """Items that the last plan before Final Answer calls untried."""
    steps, outcome = history.steps, history.outcome
    if not steps or action_of(steps[-1]) != ActionName.FINAL_ANSWER:
        return
    if outcome is None or outcome.kind != "submitted":
        return
    last = next((reply for reply in reversed(replies) if plan_items(reply.plan)), None)
    items = [] if last is None else plan_items(last.plan)
    open_items = [item for item in items if is_never_attempted(item)]
    if open_items:
        yield Finding(
            kind="plan-step-never-attempted",
            steps=(steps[-1].n,),
            detail=f"{len(open_items)} of the plan's {len(items)} items never attempted",
            quote="\n".join(item[:200] for item in open_items),
        )


def is_never_attempted(item: str) -> bool:
    """Whether an item is called untried and is not about submitting."""
    found = _NOT_ATTEMPTED.search(item)
    if found is None or _NOTHING_LEFT.search(item[: found.start()]):
        return False
    if _SUBMITTING.search(item):
        return False
    return _DONE.search(item[: found.start()]) is None
