"""The plan that an agent writes into its replies, and how it changed from one to the next."""

from dataclasses import dataclass

from mlagentbench.report.site.pages.text_diffs import Block, compare, cut

MOST_LINES = 60


@dataclass(frozen=True)
class PlanChange:
    """The plan of a reply against the one before; the first plan is all new."""

    first: bool
    blocks: tuple[Block, ...]
    left_out: int


def plan_change(before: str | None, after: str | None) -> PlanChange | None:
    """What a reply changed in the plan; None when it wrote none, or the same again."""
    if not after or after == before:
        return None
    old = before.splitlines() if before else []
    blocks, left_out = cut(compare(old, after.splitlines(), context=1), MOST_LINES)
    return PlanChange(first=before is None, blocks=blocks, left_out=left_out)
