"""What the shell offers after Tab: the ids of tasks, the names of agents and suites."""

from collections.abc import Iterable, Iterator

from mlagentbench.errors import UsageError


def complete_task(incomplete: str) -> list[str]:
    return _matching(_task_ids(), incomplete)


def complete_tasks(incomplete: str) -> list[str]:
    """The last id of a list with commas."""
    return _last_of_list(_task_ids(), incomplete)


def complete_suite(incomplete: str) -> list[str]:
    from mlagentbench.tasks.suites import suite_names

    return _matching(suite_names(), incomplete)


def complete_agent(incomplete: str) -> list[str]:
    from mlagentbench.agents.registry import AGENTS

    return _matching(AGENTS, incomplete)


def complete_agents(incomplete: str) -> list[str]:
    """The last name of a list with commas."""
    from mlagentbench.agents.registry import AGENTS

    return _last_of_list(AGENTS, incomplete)


def _task_ids() -> Iterator[str]:
    from mlagentbench.tasks.task import task_folders

    try:
        yield from sorted(task_folders())
    except UsageError:
        return  # the command itself says which installed package cannot be loaded


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _last_of_list(names: Iterable[str], incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _matching(names, last)]
