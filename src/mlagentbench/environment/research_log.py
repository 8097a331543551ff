"""The research log: what was tried and found, in the words of the agent or of the fast model.

It is a file of the workspace, written through the sandbox: every snapshot has it, and a run that is
resumed finds it as it was.
"""

from mlagentbench.environment.asking import FAST, AsksText
from mlagentbench.environment.chunked_text import clipped, summarise_long
from mlagentbench.errors import ActionError
from mlagentbench.prompts import prompt
from mlagentbench.sandbox.base import Sandbox

LOG = "research_log.md"
MOST_HAPPENED = 20_000
"""Characters of one step that are condensed into an entry."""
READ_AT_ONCE = 40_000
"""Characters of the log that the model reads at once: it is dense, and asked about often."""


class ResearchLog:
    """The log of one run. Its file's name is the log's: what else is found there is replaced."""

    def __init__(self, models: AsksText, sandbox: Sandbox) -> None:
        self._models = models
        self._sandbox = sandbox

    async def read(self) -> str:
        """The whole log; "" when there is none that can be read."""
        return (await self._contents()).decode("utf-8", "replace")

    async def append(self, entry: str) -> None:
        """Add an entry; one without a word is no entry. ActionError when nothing can be written."""
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

    async def summarise(self, happened: str) -> str:
        """Let the fast model condense a step into an entry, which is appended and returned."""
        entry = await self.condense(happened)
        await self.append(entry)
        return entry

    async def condense(self, happened: str) -> str:
        """The fast model's entry for a step, which is not in the log yet."""
        asked = prompt("actions/research_log_summarise", happened=clipped(happened, MOST_HAPPENED))
        return (await self._models.ask_text(asked, role=FAST)).strip()

    async def retrieve(self, plan: str) -> str:
        """What of the log matters for a plan, as the fast model sees it; of an empty one: ""."""
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
