"""The model calls of a run that is part of a plan, wherever they come from.

Agents, frameworks, Inspect's bridge and programs in the sandbox all call a model of Inspect. Each
call of a model's provider is made through the plan of the run that it belongs to; a call outside
of a plan, as under `inspect eval`, is made as always.
"""

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlagentbench.errors import RunInterrupted
from mlagentbench.inspect_private import around_model_calls, usage_cost
from mlagentbench.models.provider_answers import RATE_LIMITED, provider_error, status_of
from mlagentbench.models.sharing.plan_limits import provider_of
from mlagentbench.models.sharing.plan_share import PlanShare, plan_share
from mlagentbench.untrusted_text import one_line

if TYPE_CHECKING:
    from inspect_ai.model import Model

SHOWN_ERROR = 120


class RunShare:
    """The share of one run in its plan."""

    def __init__(self, share: PlanShare) -> None:
        self.share = share
        self.interrupted: RunInterrupted | None = None
        """Why the run was interrupted, which a framework may have caught."""


_CURRENT: ContextVar[RunShare | None] = ContextVar("mlagentbench_share", default=None)


def join_plan(directory: Path | None, say: Callable[[str], None] | None = None) -> RunShare | None:
    """Make all model calls of the running sample those of a plan; None for a run without one."""
    if directory is None:
        return use_share(None)
    around_model_calls(_call)
    share = plan_share(directory)
    share.say = say
    return use_share(RunShare(share))


def use_share(run: RunShare | None) -> RunShare | None:
    """The same for code of a run that does not inherit it, such as a scorer."""
    _CURRENT.set(run)
    return run


def require_not_interrupted() -> None:
    """Raise RunInterrupted if the running sample had a call that the plan's limits refused."""
    run = _CURRENT.get()
    if run is not None and run.interrupted is not None:
        raise run.interrupted


async def _call(model: "Model", generate: Callable[..., Any], **arguments: Any) -> Any:
    """One call of a provider."""
    run = _CURRENT.get()
    if run is None:
        return await generate(**arguments)
    try:
        return await run.share.call(
            provider_of(str(model)),
            lambda: generate(**arguments),
            cost=lambda result: _cost(model, result),
            unavailable=lambda error: _unavailable(model, error),
        )
    except RunInterrupted as interrupted:
        run.interrupted = interrupted
        raise


def _cost(model: "Model", result: Any) -> float:
    """What a call cost in dollars; 0 if it has no price."""
    output = result[0] if isinstance(result, tuple) else result
    return usage_cost(model, output) or 0.0


def _unavailable(model: "Model", error: Exception) -> str | None:
    """What an error says of a provider that is unavailable; None for every other error."""
    error = provider_error(error)
    decision = model.api.should_retry(error)
    is_busy = getattr(decision, "kind", None) == "rate_limit" or status_of(error) == RATE_LIMITED
    if not decision or is_busy:
        return None
    status = status_of(error)
    said = one_line(f"{type(error).__name__}: {error}" if status is None else f"{status}: {error}")
    return said if len(said) <= SHOWN_ERROR else f"{said[:SHOWN_ERROR]} ..."
