"""The plan that an agent writes into its replies, and how it changed from one to the next."""

import re
from dataclasses import dataclass

from mlagentbench.report.pages.diffs import Block, compare, cut

PLAN_FIELD = "Research Plan and Status"
FIELDS = ("Reflection", PLAN_FIELD, "Fact Check", "Thought", "Questions", "Action", "Action Input")
MOST_LINES = 60

_AROUND = r"[ \t>#*_`]{0,8}"
_HEADER = re.compile(
    rf"^{_AROUND}(?P<name>{'|'.join(map(re.escape, FIELDS))}){_AROUND}:{_AROUND}",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class PlanChange:
    """The plan of a reply against the one before; the first plan is all new."""

    first: bool
    blocks: tuple[Block, ...]
    left_out: int


def plan_in(reply: str) -> str | None:
    """The text of a reply's plan field; None where there is none."""
    headers = list(_HEADER.finditer(reply))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        if header["name"].lower() == PLAN_FIELD.lower():
            end = len(reply) if following is None else following.start()
            return reply[header.end() : end].strip()
    return None


def plan_change(before: str | None, after: str | None) -> PlanChange | None:
    """What a reply changed in the plan; None when it wrote none, or the same again."""
    if not after or after == before:
        return None
    old = before.splitlines() if before else []
    blocks, left_out = cut(compare(old, after.splitlines(), context=1), MOST_LINES)
    return PlanChange(first=before is None, blocks=blocks, left_out=left_out)
