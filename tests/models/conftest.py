"""Runs on a small task, for the tests of this folder."""

from environment_fixtures import (  # noqa: F401
    anyio_backend,
    data,
    numpy_env,
    open_environment,
    python_env,
    task,
)
