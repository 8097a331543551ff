"""Actions on the research log, for agents that keep it by themselves."""

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.environment.research_log import ResearchLog
from mlagentbench.errors import ActionError


@action("Append Summary to Research Log")
async def append_summary_to_research_log(at: ActionContext, content: str) -> str:
    """Add an entry to the research log, which is kept in research_log.md.

    Args:
        content: What was done and found, with figures.
    """
    if not content.strip():
        raise ActionError("content is empty: there is nothing to add to the research log")
    await ResearchLog(at.models, at.sandbox).append(content)
    return "The research log has a new entry."


@action("Retrieval from Research Log")
async def retrieval_from_research_log(at: ActionContext, current_plan: str) -> str:
    """Let a model find what matters now in the research log.

    Args:
        current_plan: The plan and its status, in detail: what is relevant depends on it.
    """
    found = await ResearchLog(at.models, at.sandbox).retrieve(current_plan)
    return found or "The research log is empty."
