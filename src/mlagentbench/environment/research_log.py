"""The research log: what was tried and found, written by the agent or the fast model.

It is a file in the workspace, written through the sandbox, so every snapshot has it, and a resumed
run finds it unchanged.
"""

from mlagentbench.environment.ask_models import FAST, AsksText
from mlagentbench.environment.chunked_text import clipped, summarise_long
from mlagentbench.errors import ActionError
from mlagentbench.prompts import prompt
from mlagentbench.sandbox.base import Sandbox

LOG = "research_log.md"
MOST_HAPPENED = 20_000
"""The most characters of one step that are condensed into an entry."""
READ_AT_ONCE = 40_000
"""Characters of the log that the model reads at once: it is dense, and used often."""


class ResearchLog:
    """The log of one run; anything else at its path is replaced."""

    def __init__(self, models: AsksText, sandbox: Sandbox) -> None:
        self._models = models
        self._sandbox = sandbox

    async def read(self) -> str:
        """The complete log; empty if it cannot be read."""
        return (await self._contents()).decode("utf-8", "replace")

    async def append(self, entry: str) -> None:
        """Add an entry unless it is blank; raises ActionError when the log cannot be written."""
        if not entry.strip():
            return
        before = await self._contents()
        added = f"{entry.strip()}\n".encode("utf-8", "replace")
        contents = before.rstrip() + b"\n\n" + added if before.strip() else added
        try:
            await self._sandbox.write(LOG, contents)
        except OSError:
            await self._sandbox.run(["rm", "-rf", "--", LOG])
            await self._write_anew(contents)

    async def condense(self, happened: str) -> str:
        """Have the fast model condense a step into an entry, without appending it."""
        asked = prompt("actions/research_log_summarise", happened=clipped(happened, MOST_HAPPENED))
        return (await self._models.ask_text(asked, role=FAST)).strip()

    async def retrieve(self, plan: str) -> str:
        """What the fast model finds relevant for a plan; empty if the log is empty."""
        log = (await self.read()).strip()
        question = prompt("actions/research_log_retrieve", plan=plan)
        return await summarise_long(self._models, log, question, READ_AT_ONCE)

    async def _contents(self) -> bytes:
        try:
            return await self._sandbox.read(LOG)
        except OSError:
            return b""

    async def _write_anew(self, contents: bytes) -> None:
        try:
            await self._sandbox.write(LOG, contents)
        except OSError as error:
            raise ActionError(f"{LOG} cannot be written: {error.strerror or error}") from error
