"""Request Help: asking the person who started the run, where there is one."""

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.errors import ActionError

ANSWER = "The person answers: "
NOBODY = "Nobody answered. Go on with what you know."


@action("Request Help")
async def request_help(at: ActionContext, request: str) -> str:
    """Ask the person who started this run, for what you cannot find out or do by yourself.

    Args:
        request: What you need to know, with all that a reader needs to answer.
    """
    from inspect_ai.util import suspend_working_limit

    if at.ask_person is None:
        raise ActionError("nobody can be asked in this run")
    with at.budget.halted(), suspend_working_limit():
        answer = (await at.ask_person(request)).strip()
    return f"{ANSWER}{answer}" if answer else NOBODY
