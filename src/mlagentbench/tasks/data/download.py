"""Downloads over HTTP: resumed where they stopped, retried when the network fails."""

import asyncio
import os
import re
import ssl
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.records import Record
from mlagentbench.tasks.data.progress import Progress

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
"""How often in a row a download may fail without any new bytes."""
PAUSE = 1.0
"""Seconds before the second attempt; doubled before each further one."""

_RETRIED = {408, 425, 429, 500, 502, 503, 504}


class DownloadRefused(UsageError):
    """The source refused to send the file."""


class FileNotInSource(DownloadRefused):
    """The source does not have the file."""


def http_client(timeout: float) -> "httpx.AsyncClient":
    """A client that uses the system's certificates and follows redirects."""
    import httpx

    context = ssl.create_default_context()
    trusted: ssl.SSLContext | bool = context if context.cert_store_stats()["x509_ca"] else True
    return httpx.AsyncClient(timeout=timeout, follow_redirects=True, verify=trusted)


async def size_of(client: "httpx.AsyncClient", url: str) -> int | None:
    """The size of a file, or None when the server does not say."""
    import httpx

    try:
        reply = await client.head(url, headers={"Accept-Encoding": "identity"})
    except httpx.HTTPError:
        return None
    length = reply.headers.get("Content-Length", "")
    return int(length) if reply.is_success and length.isdigit() else None


async def is_reachable(client: "httpx.AsyncClient", url: str) -> bool:
    """Whether the page responds within the client's timeout."""
    import httpx

    try:
        return (await client.head(url)).is_success
    except httpx.HTTPError:
        return False


async def download(
    url: str, target: Path, progress: Progress, *, client: "httpx.AsyncClient | None" = None
) -> None:
    """Download `url` to `target`, through `target`.part until it is complete.

    Resumes an earlier download if the server still has the same file. Raises DownloadRefused when
    the server refuses, and UsageError when the network fails ATTEMPTS times in a row; the partial
    file is kept.
    """
    if client is not None:
        return await _download(client, _Part(target, url), progress)
    async with http_client(timeout=60.0) as own:
        return await _download(own, _Part(target, url), progress)


async def _download(client: "httpx.AsyncClient", part: "_Part", progress: Progress) -> None:
    import httpx

    failures, pause = 0, PAUSE
    while True:
        before = part.size
        try:
            await part.fetch(client, progress)
            return part.finish()
        except (httpx.TransportError, _Refusal) as error:
            if isinstance(error, _Refusal) and not error.is_temporary:
                kind = FileNotInSource if error.status in (404, 410) else DownloadRefused
                raise kind(f"{part.url}: the server answered {error}") from error
            failures, pause = (1, PAUSE) if part.size > before else (failures + 1, pause * 2)
            if failures >= ATTEMPTS:
                reason = str(error) or type(error).__name__
                raise UsageError(
                    f"cannot download {part.url}: {reason}; the partial file is kept, run the same "
                    "command again to resume"
                ) from error
        await asyncio.sleep(pause)


class _Refusal(Exception):
    """The server answered without the file."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status} {words}")
        self.status = status
        self.is_temporary = status in _RETRIED


class _Origin(Record):
    """The URL of a partial file, and the server's validator of its version."""

    url: str
    validator: str | None


class _Part:
    """A partial download, with its origin in a JSON file beside it."""

    def __init__(self, target: Path, url: str) -> None:
        self.target = target
        self.url = url
        self.file = target.with_name(f"{target.name}.part")
        self.note = target.with_name(f"{target.name}.part.json")
        target.parent.mkdir(parents=True, exist_ok=True)

    @property
    def size(self) -> int:
        return self.file.stat().st_size if self.file.is_file() else 0

    async def fetch(self, client: "httpx.AsyncClient", progress: Progress) -> None:
        """Request what is missing and append it; starts over when the server's file has changed."""
        validator = self._validator()
        if validator is None:
            self.file.unlink(missing_ok=True)
        start = self.size
        headers = {"Accept-Encoding": "identity"}
        if start and validator is not None:
            headers |= {"Range": f"bytes={start}-", "If-Range": validator}
        async with client.stream("GET", self.url, headers=headers) as reply:
            if reply.status_code == 416 or not self._continues(reply, start, validator):
                self.file.unlink(missing_ok=True)
                if reply.status_code != 200:
                    raise _Refusal(503, "a file that has changed meanwhile")
                start = 0
            if reply.status_code not in (200, 206):
                raise _Refusal(reply.status_code, reply.reason_phrase)
            length = reply.headers.get("Content-Length", "")
            total = start + int(length) if length.isdigit() else None
            self._remember(reply)
            with self.file.open("ab") as handle:
                await self._append(reply, handle, total, progress)

    def finish(self) -> None:
        self.file.replace(self.target)
        self.note.unlink()

    async def _append(
        self, reply: "httpx.Response", handle: IO[bytes], total: int | None, progress: Progress
    ) -> None:
        done = handle.tell()
        async for chunk in reply.aiter_raw():
            handle.write(chunk)
            done += len(chunk)
            progress.transfer(self.target.name, done, total)
        handle.flush()
        os.fsync(handle.fileno())

    def _continues(self, reply: "httpx.Response", start: int, validator: str | None) -> bool:
        """Whether the reply starts exactly where the partial file ends."""
        if reply.status_code != 206:
            return start == 0 or reply.status_code not in (200, 206)
        begins = re.match(r"bytes (\d+)-", reply.headers.get("Content-Range", ""))
        return begins is not None and int(begins[1]) == start and _validator_of(reply) == validator

    def _validator(self) -> str | None:
        try:
            origin = _Origin.model_validate_json(self.note.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return origin.validator if origin.url == self.url else None

    def _remember(self, reply: "httpx.Response") -> None:
        origin = _Origin(url=self.url, validator=_validator_of(reply))
        self.note.write_text(origin.model_dump_json(), encoding="utf-8")


def _validator_of(reply: "httpx.Response") -> str | None:
    """A strong validator of this version of the file; only such a one allows resuming."""
    etag: str | None = reply.headers.get("ETag")
    if etag is not None and not etag.startswith("W/"):
        return etag
    modified: str | None = reply.headers.get("Last-Modified")
    return modified
