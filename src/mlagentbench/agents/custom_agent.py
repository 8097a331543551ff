"""Custom agents: a solver in a Python file, as in `--agents ./my_agent.py`."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from mlagentbench.agents.registry import AGENTS, AgentInfo
from mlagentbench.errors import UsageError
from mlagentbench.inspect_private import is_solver


def is_file(name: str) -> bool:
    """Whether this names a file rather than a built-in agent."""
    return name.partition(".py")[1] != "" and name.partition(".py")[2][:1] in ("", ":")


def load_agent(address: str) -> AgentInfo:
    """The agent in FILE.py, or FILE.py:FUNCTION if the file has several."""
    file, _, function = address.partition(":")
    solvers = _solvers(_import(Path(file)))
    if not solvers:
        raise UsageError(f"{file}: no function is decorated with @solver of inspect_ai; add one")
    found = ", ".join(solvers)
    if function and function not in solvers:
        raise UsageError(f"{file} has no solver {function}; it has: {found}")
    if not function and len(solvers) > 1:
        raise UsageError(
            f"{file} has several solvers: {found}; name one: {file}:{next(iter(solvers))}"
        )
    name = function or next(iter(solvers))
    if name in {info.function for info in AGENTS.values()}:
        raise UsageError(f"{file}: {name} is the name of a built-in agent; choose another name")
    return AgentInfo(
        name=name,
        module=_module_name(Path(file)),
        needs_model=None,
        description=f"custom agent in {file}",
    )


def _import(file: Path) -> ModuleType:
    name = _module_name(file)
    spec = spec_from_file_location(name, file.absolute())
    if not file.is_file() or spec is None or spec.loader is None:
        raise UsageError(
            f"{file} not found; --agents takes names (see: mlagentbench agents list) or files"
        )
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # custom code can raise anything
        raise UsageError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _module_name(file: Path) -> str:
    return f"mlagentbench_own_agent_{file.stem}"


def _solvers(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and getattr(value, "__module__", None) == module.__name__
        and is_solver(value)
    }
