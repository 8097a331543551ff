"""Each private name of Inspect that we use is there, and is what we take it for.

A failure names what a release of Inspect changed, and what this package uses it for.
"""

import ast
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from pkgutil import resolve_name
from typing import Any

import pytest
from inspect_ai.model import Model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from scripted_model import scripted

from mlagentbench import inspect_private
from mlagentbench.errors import UsageError
from mlagentbench.inspect_private import CLIENT_FLAGS
from mlagentbench.inspect_startup import _WhenLoaded


def parameters(*names: str) -> Callable[[object], bool]:
    """Whether a function can be called with these arguments, in this order, and no others."""

    def fits(found: object) -> bool:
        if not callable(found):
            return False
        taken = inspect.signature(found).parameters.values()
        needed = [one.name for one in taken if one.default is inspect.Parameter.empty]
        return [one.name for one in taken][: len(names)] == list(names) and set(needed) <= {*names}

    return fits


def attribute(*names: str) -> Callable[[object], bool]:
    """Whether a class's source assigns or defines these attributes."""
    return lambda found: (
        isinstance(found, type)
        and all(
            f"self.{name}" in inspect.getsource(found) or hasattr(found, name) for name in names
        )
    )


def both(*checks: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda found: all(check(found) for check in checks)


USED = {
    "_util.error:PrerequisiteError": (
        "errors that Inspect prints without a traceback",
        both(parameters("message"), attribute("message")),
    ),
    "_util.exception:TerminateSampleError": (
        "ending a sample from within a tool",
        parameters("reason"),
    ),
    "_util.working:sample_timing": ("the run's clock", parameters()),
    "_util.working:SampleTiming": ("the run's clock", attribute("working")),
    "_util.working:sample_wait": ("waiting that is no run time", parameters()),
    "model._model:Model": (
        "the limits that the runs of a plan share",
        attribute("_generate", "api"),
    ),
    "model._model:model_usage_cost": (
        "the money that the runs of a plan share",
        parameters("model", "usage", "output"),
    ),
    "log._samples:sample_active": ("finding the log of a run", parameters()),
    "log._samples:ActiveSample": ("finding the log of a run", attribute("log_location")),
    "_util.registry:is_registry_object": ("finding a custom agent", parameters("o", "type")),
    "_util.entrypoints:ensure_entry_points": ("listing model providers", parameters()),
    "_util.registry:registry_find": ("listing model providers", parameters("predicate")),
    "_util.registry:registry_unqualified_name": ("listing model providers", parameters("o")),
    "util._sandbox.local:LocalSandboxEnvironment": (
        "copying files to a sandbox without isolation",
        both(parameters(), attribute("directory")),
    ),
    "model:_assistant_internal": (
        "starting without unused clients",
        lambda found: all(
            isinstance(vars(found)[flag], bool | _WhenLoaded) for flag in CLIENT_FLAGS.values()
        ),
    ),
    "agent._acp.server:acp_server": (
        "starting without the agent client protocol",
        parameters("eval_id", "transport"),
    ),
    "agent._acp.transport:_acp_live_active": (
        "starting without the agent client protocol",
        lambda found: isinstance(found, ContextVar),
    ),
}


@pytest.mark.parametrize("name", USED)
def test_a_private_name_is_what_we_take_it_for(name: str) -> None:
    purpose, fits = USED[name]
    place = f"inspect_ai.{name}"
    try:
        found = resolve_name(place)
    except (ImportError, AttributeError):
        pytest.fail(f"{place} is gone; used for {purpose}")
    assert fits(found), f"{place} has changed; used for {purpose}"


def test_every_private_name_is_checked() -> None:
    tree = ast.parse(inspect.getsource(inspect_private))
    imported = {
        f"{node.module.removeprefix('inspect_ai.')}:{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and "inspect_ai" in node.module
        for alias in node.names
        if "._" in f"{node.module}.{alias.name}"
    }
    named = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and str(node.value).startswith("inspect_ai.")
    }
    assert imported <= USED.keys()
    assert named <= {f"inspect_ai.{name.partition(':')[0]}" for name in USED}


def test_changed_names_do_not_pass() -> None:
    """The checks themselves: a missing attribute, and a parameter more than we give."""
    assert not attribute("working")(UsageError)
    assert not parameters()(lambda needed: needed)
    assert not parameters("reason")(lambda cause: cause)


def test_outside_of_a_sample_there_is_neither_clock_nor_log() -> None:
    assert inspect_private.sample_clock() is None
    assert inspect_private.sample_log() is None


@pytest.mark.anyio
async def test_calls_of_all_models_are_made_through_one_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests may have set a function of their own; all is restored at the end.
    plain = inspect.unwrap(Model._generate, stop=lambda one: not hasattr(one, "around"))
    monkeypatch.setattr(Model, "_generate", plain)
    before = scripted("One.", "Two.")
    await before.generate("And now?")
    seen: list[str] = []

    async def around(model: Model, generate: Callable[..., Awaitable[Any]], **asked: Any) -> Any:
        seen.append(str(model))
        return await generate(**asked)

    inspect_private.around_model_calls(around)
    inspect_private.around_model_calls(around)
    assert (await before.generate("And now?")).completion == "Two."
    assert (await scripted("Three.").generate("And now?")).completion == "Three."
    assert seen == ["mockllm/model"] * 2


@solver
def some_solver() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return state

    return solve


def test_solvers_and_providers_are_found_in_the_registry() -> None:
    assert inspect_private.is_solver(some_solver)
    assert not inspect_private.is_solver(parameters)
    assert {"mlagentbench", "openai"} <= inspect_private.model_providers()


def test_only_errors_about_prerequisites_have_their_message() -> None:
    error = inspect_private.prerequisite_error("a key is missing")
    assert inspect_private.prerequisite_message(error) == "a key is missing"
    assert inspect_private.prerequisite_message(ValueError("other")) is None
