"""Check models before the first run: provider, package, key, server and prices."""

import difflib
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import yaml
from pydantic import TypeAdapter, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.inspect_private import model_providers, prerequisite_message
from mlagentbench.models.model_choice import ModelChoice
from mlagentbench.records import first_problem

if TYPE_CHECKING:
    from inspect_ai.model import ModelAPI, ModelCost

PAGE = "see docs/models.md"
EXTRAS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google-genai": "google",
    "mistralai": "mistral",
}
"""Extras of this package, by the package of a provider's client."""
MAKERS = {"gpt": "openai", "claude": "anthropic", "gemini": "google", "mi[sx]tral": "mistral"}
"""Providers, by how the names of their models begin."""
INSTALL = re.compile(r"pip install (?:--upgrade )?([\w-]+)")
AT_LEAST = re.compile(r"at least version (\S+) of .*\(you have version (\S+) installed\)")
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|BASE_URL)\b")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECT_SECONDS = 3.0


def require_model(choice: ModelChoice) -> None:
    """Raise UsageError if the provider, package, key or server of a model is missing."""
    from inspect_ai.model import get_model

    name = choice.name
    _require_provider(name)
    with explain_prerequisites(f"model {name}"):
        try:
            model = get_model(name, memoize=False, **choice.arguments)
        except ValueError as error:
            raise UsageError(f"model {name}: {str(error).rstrip('.')} ({PAGE})") from error
    _require_server(name, _address(model.api))


@contextmanager
def explain_prerequisites(subject: str) -> Iterator[None]:
    """Raise Inspect's prerequisite errors, as of a missing package or key, as UsageError."""
    from rich.text import Text

    try:
        yield
    except Exception as error:
        message = prerequisite_message(error)
        if message is None:
            raise
        said = Text.from_markup(str(message)).plain.removeprefix("ERROR: ")
        raise UsageError(f"{subject}{_next_step(said)}") from error


def _next_step(said: str) -> str:
    """What Inspect says is missing, and how to provide it."""
    line = ": ".join(part.rstrip(".:") for part in said.splitlines() if part)
    if install := INSTALL.search(said):
        package = install[1]
        extra = EXTRAS.get(package)
        old = AT_LEAST.search(said)
        which = f"{package} {old[1]} or newer (here: {old[2]})" if old else f"package {package}"
        command = install[0] if extra is None else f"pip install 'mlagentbench[{extra}]'"
        return f" needs {which}: {command}"
    if variable := VARIABLE.search(said):
        return f": {line}; export {variable[0]}=... ({PAGE})"
    return f": {line} ({PAGE})"


def _require_provider(name: str) -> None:
    if name == "none":
        return
    known = sorted(model_providers())
    provider, slash, _ = name.partition("/")
    if not slash:
        maker = next((by for start, by in MAKERS.items() if re.match(start, name)), None)
        hint = f"did you mean {maker}/{name}?" if maker else "e.g. openai/gpt-6-sol"
        raise UsageError(f"model {name}: models are named PROVIDER/NAME, {hint} ({PAGE})")
    if provider not in known:
        near = difflib.get_close_matches(provider, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise UsageError(f"model {name}: unknown provider {provider}; {hint} ({PAGE})")


def _address(api: "ModelAPI") -> str:
    """Where its requests go, if the client tells."""
    client = getattr(api, "client", None)
    return str(api.base_url or getattr(client, "base_url", ""))


def _require_server(name: str, address: str) -> None:
    """Raise UsageError when a server on this machine does not answer."""
    place = urlsplit(address)
    if place.hostname not in LOOPBACK:
        return
    port = place.port or {"https": 443}.get(place.scheme, 80)
    try:
        socket.create_connection((place.hostname, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise UsageError(
            f"model {name}: nothing answers at {address} ({error.strerror or error}); start its "
            f"server, or name another address ({PAGE})"
        ) from error


def read_prices(file: Path, models: set[str]) -> "dict[str, ModelCost]":
    """Dollars per million tokens by model; raises UsageError when a model has no price."""
    from inspect_ai.model import ModelCost

    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        prices = TypeAdapter(dict[str, ModelCost]).validate_python(values)
    except OSError as error:
        raise UsageError(f"--prices {file}: {error.strerror} ({PAGE})") from error
    except ValidationError as error:
        raise UsageError(f"--prices {file}: {first_problem(error)} ({PAGE})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"--prices {file}: neither JSON nor YAML ({PAGE})") from error
    missing = sorted(models - set(prices))
    if missing:
        raise UsageError(f"--prices {file}: no price for {', '.join(missing)}; add it there")
    return prices


def let_have_prices(models: Iterable[str]) -> None:
    """Make Inspect take prices of models that are not in its database, such as local ones."""
    from inspect_ai.model import ModelInfo, get_model_info, set_model_info

    for name in models:
        if get_model_info(name) is None:
            set_model_info(name, ModelInfo())
