"""Keep Inspect from loading, when an evaluation starts, what the evaluation does not use.

Inspect loads the clients of OpenAI and Anthropic for every sample, wherever they are installed, and
the agent client protocol for every evaluation: 2.7 of the 5.8 CPU seconds of a run without a model.
"""

import sys
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from mlagentbench.inspect_private import (
    CLIENT_FLAGS,
    PROTOCOL_SERVER,
    flag_clients,
    open_no_protocol_sessions,
)


def load_only_what_is_used() -> None:
    """Let evaluations in this process start without unused clients and protocols."""
    flag_clients(_WhenLoaded)
    if PROTOCOL_SERVER not in sys.modules:
        sys.modules[PROTOCOL_SERVER] = _ProtocolServer(PROTOCOL_SERVER)
    open_no_protocol_sessions()


def load_clients() -> None:
    """Load the installed clients, for agents that would otherwise load one within a sample.

    A sample that began without a client would share that client's state with other samples.
    """
    for package in CLIENT_FLAGS:
        with suppress(ImportError):
            import_module(package)


class _WhenLoaded:
    """True once a package is loaded: a client that is not loaded was not used.

    Inspect gives each sample a state of its own for the wire formats of a client.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def __bool__(self) -> bool:
        return self._package in sys.modules


class _ProtocolServer(ModuleType):
    """Inspect's module of the agent client protocol, which is loaded when a server is asked for."""

    def acp_server(
        self, *, eval_id: str, transport: bool | int | str | None
    ) -> AbstractAsyncContextManager[Any]:
        """What Inspect opens around every evaluation; without a transport it does nothing."""
        if not transport:
            return nullcontext()
        return self._loaded().acp_server(eval_id=eval_id, transport=transport)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._loaded(), name)

    def _loaded(self) -> ModuleType:
        if sys.modules.get(PROTOCOL_SERVER) is self:
            del sys.modules[PROTOCOL_SERVER]
        return import_module(PROTOCOL_SERVER)
