"""Downloads from Kaggle through its official client."""

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.archives import SearchPlaces
from mlagentbench.tasks.data.download import FileNotInSource
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.spec import Source, SourceFile
from mlagentbench.tasks.subprocesses import run_command

_NO_TOKEN = r"Authentication required|Could not find kaggle\.json|\b401\b|Unauthorized"
_NOT_ALLOWED = r"accept this competition|\b403\b|Forbidden"
_NOT_THERE = r"\b404\b|Not Found"
_NO_NETWORK = r"Max retries exceeded|NameResolution|ConnectionError|Connection refused|timed out"


def page(ref: str, part: str) -> str:
    """A page of a competition, or of a data set (`owner/name`)."""
    kind = "datasets" if "/" in ref else "competitions"
    return f"https://www.kaggle.com/{kind}/{ref}/{part}"


async def fetch(source: Source, file: SourceFile, target: Path, progress: Progress) -> None:
    """Download one file to `target`; the client resumes an interrupted download."""
    collected = target.parent / ".kaggle" / re.sub(r"\W", "_", file.path)
    collected.mkdir(parents=True, exist_ok=True)
    kind, option = ("datasets", "-d") if "/" in source.ref else ("competitions", "-c")
    command = [_client(), kind, "download", option, source.ref, "-f", file.path]
    async with _watched(collected, file, progress):
        done = await run_command([*command, "-p", str(collected), "-q"])
    if done.exit_code != 0:
        raise _explained(source, file, done.stdout + done.stderr, done.last_lines(3))
    places = SearchPlaces(collected)
    place = places.find(Path(file.path).name)
    if place is None:
        reason = "; ".join(places.problems) or done.last_lines()
        raise UsageError(f"the Kaggle client succeeded without {file.path}: {reason}")
    part = target.with_name(f"{target.name}.part")
    with place.open() as reader, part.open("wb") as writer:
        shutil.copyfileobj(reader, writer, 1 << 20)
    part.replace(target)
    shutil.rmtree(collected)


def _client() -> str:
    client = shutil.which("kaggle") or shutil.which("kaggle", path=Path(sys.executable).parent)
    if client is None:
        raise UsageError(
            "the official Kaggle client is not installed; run: pip install 'mlagentbench[kaggle]'"
        )
    return client


def _explained(source: Source, file: SourceFile, output: str, last: str) -> UsageError:
    """The client's failure as an error with the next step."""
    again = "then run the same command again"
    if re.search(_NO_NETWORK, output):
        return UsageError(f"Kaggle cannot be reached; check your network connection, {again}")
    if re.search(_NO_TOKEN, output):
        return UsageError(
            "Kaggle needs a token; create one at https://www.kaggle.com/settings/api "
            '("Generate New Token"), save it as ~/.kaggle/access_token or set KAGGLE_API_TOKEN to '
            f"it (clients before 2.0: ~/.kaggle/kaggle.json), {again}"
        )
    if re.search(_NOT_ALLOWED, output):
        return UsageError(
            f"Kaggle does not let you download {source.ref}; accept its rules at "
            f"{page(source.ref, 'rules')} (with the account that the token belongs to), {again}"
        )
    if re.search(_NOT_THERE, output):
        return FileNotInSource(f"Kaggle has no {file.path} in {source.ref}")
    return UsageError(f"the Kaggle client failed: {last}")


@asynccontextmanager
async def _watched(directory: Path, file: SourceFile, progress: Progress) -> AsyncIterator[None]:
    """Report how much has arrived, which the client does not do for programs."""

    async def watch() -> None:
        while True:
            with suppress(FileNotFoundError):  # the client renames files while we look
                sizes = [path.stat().st_size for path in directory.iterdir()]
                progress.transfer(file.path, sum(sizes), file.bytes)
            await asyncio.sleep(0.5)

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
