"""Images downloaded one by one, from the URLs that a file of the source lists.

HOME/downloads/TASK/vN/FOLDER/ keeps what has arrived, so that running the same command again
downloads only the rest. Images that cannot be downloaded are listed in raw/FOLDER_missing.csv, for
the task's prepare() to leave out; too many of them are an error.
"""

import asyncio
import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.fs import link
from mlagentbench.home import downloads_dir
from mlagentbench.tasks.data.archives import copy_from_folder
from mlagentbench.tasks.data.download import DownloadRefused, download, http_client
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.spec import ListedImages
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    import httpx

AT_ONCE = 8
"""Images downloaded at the same time."""
TRIES = 2
"""Downloads of an image that arrives damaged."""
REPORTS = 20

_FIRST_AND_LAST_BYTES = {b"\x89PNG\r\n\x1a\n": b"IEND\xaeB`\x82", b"\xff\xd8\xff": b"\xff\xd9"}
"""The first and last bytes of PNG and JPEG files; some cameras append a little to a JPEG."""
_TAIL = 1024


class TooManyMissing(UsageError):
    """More images are missing than the task allows."""


class ListedImage(NamedTuple):
    """An image of the listing."""

    name: str
    url: str


async def gather_images(
    task: Task, images: ListedImages, raw: Path, *, from_dir: Path | None, progress: Progress
) -> None:
    """Collect the listed images in raw/FOLDER, from the user's directory or the network."""
    wanted = read_listing(task, raw / images.listing)
    folder = raw / images.folder
    folder.mkdir(parents=True)
    if from_dir is not None:
        progress.say(f"{task.id}: taking {images.folder}/ from {from_dir}")
        copy_from_folder(from_dir, images.folder, [image.name for image in wanted], folder)
    rest = [image for image in wanted if not (folder / image.name).is_file()]
    fetching = _Fetching(task, images, len(wanted), progress)
    try:
        missing = await fetching.fetch(rest) if rest else {}
    except TooManyMissing:
        raise
    except UsageError as error:
        if from_dir is None:
            raise UsageError(f"{task.id}: {error}") from error
        missing = {image.name: str(error) for image in rest if not fetching.has(image)}
    fetching.require_few(missing)
    for image in rest:
        if image.name not in missing and not link(fetching.place(image), folder / image.name):
            shutil.copyfile(fetching.place(image), folder / image.name)
    for file in folder.iterdir():
        file.chmod(0o644)
    _report(task, images, missing, raw, progress)


def read_listing(task: Task, listing: Path) -> list[ListedImage]:
    """The images that a COCO file lists, each under the name of its file."""
    try:
        entries = json.loads(listing.read_text(encoding="utf-8"))["images"]
        found = [
            ListedImage(_plain_name(one["file_name"]), str(one["coco_url"])) for one in entries
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{task.id}: {listing.name} is not a COCO file with file_name and coco_url of each "
            f"image: {error!r}"
        ) from error
    return list({image.name: image for image in found}.values())


def _plain_name(path: str) -> str:
    name = PurePosixPath(path).name
    if name in ("", ".."):
        raise ValueError(f"{path!r} is not a file name")
    return name


class _Fetching:
    """Downloads the images of one listing."""

    def __init__(self, task: Task, images: ListedImages, total: int, progress: Progress) -> None:
        self.task = task
        self.images = images
        self.total = total
        self.progress = progress
        self.tally = _Tally(images.folder, progress)
        self.missing: dict[str, str] = {}
        self.folder = downloads_dir(task.original_id, task.spec.version) / images.folder

    def place(self, image: ListedImage) -> Path:
        return self.folder / image.name

    def has(self, image: ListedImage) -> bool:
        return self.place(image).is_file() and is_complete_image(self.place(image))

    async def fetch(self, images: list[ListedImage]) -> dict[str, str]:
        """Download all, several at once; returns the reason for each that is missing."""
        there = sum(map(self.has, images))
        self.progress.say(
            f"{self.task.id}: fetching {len(images) - there:,} images"
            + (f", {there:,} are here already" if there else "")
        )
        images = [image for image in images if not self.has(image)]
        queue = enumerate(images, start=1)
        try:
            async with http_client(timeout=60.0) as client, asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(self._work(queue, len(images), client))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return self.missing

    async def _work(
        self, queue: Iterator[tuple[int, ListedImage]], count: int, client: "httpx.AsyncClient"
    ) -> None:
        for number, image in queue:
            why = await self._fetch_one(image, client)
            if why is not None:
                self.missing[image.name] = why
                self.require_few(self.missing)
            if number % max(1, count // REPORTS) == 0:
                self.progress.say(f"{self.task.id}: {number:,} of {count:,} images")

    async def _fetch_one(self, image: ListedImage, client: "httpx.AsyncClient") -> str | None:
        """Download an image from its URL or a mirror; returns the reason when that fails."""
        why = ""
        for url in self._addresses(image.url):
            for _ in range(TRIES):
                try:
                    await download(url, self.place(image), self.tally, client=client)
                except DownloadRefused as error:
                    why = str(error)
                    break
                if is_complete_image(self.place(image)):
                    return None
                self.place(image).unlink()
                why = f"{url}: what arrives is not a complete PNG or JPEG file"
        return why

    def _addresses(self, url: str) -> Iterator[str]:
        yield url
        for beginning, other in self.images.mirrors.items():
            if url.startswith(beginning):
                yield other + url.removeprefix(beginning)

    def require_few(self, missing: dict[str, str]) -> None:
        """Raise a UsageError with the next step when too many images are missing."""
        if len(missing) <= self.images.most_missing * self.total:
            return
        name, why = next(iter(missing.items()))
        raise TooManyMissing(
            f"{self.task.id}: {len(missing):,} or more of the {self.total:,} images in "
            f"{self.images.listing} cannot be downloaded, which is over "
            f"{100 * self.images.most_missing:g} %; first: {name}: {why}\n"
            "Run the same command again later: what has arrived is kept. Or put the images into "
            f"DIR/{self.images.folder}/, beside the other files of the source, and "
            f"run: mlagentbench tasks prepare {self.task.address} --tier full --from DIR"
        )


class _Tally:
    """A Progress that shows the bytes of many files as one transfer."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name = name
        self.progress = progress
        self.bytes = 0
        self.files: dict[str, int] = {}

    def say(self, text: str) -> None:
        self.progress.say(text)

    def transfer(self, name: str, done: int, total: int | None) -> None:  # noqa: ARG002
        self.bytes += done - self.files.get(name, 0)
        self.files[name] = done
        self.progress.transfer(self.name, self.bytes, None)


def is_complete_image(file: Path) -> bool:
    """Whether a file begins and ends like a PNG or JPEG file."""
    with file.open("rb") as handle:
        start = handle.read(8)
        handle.seek(max(0, file.stat().st_size - _TAIL))
        tail = handle.read()
    return any(
        start.startswith(head) and end in tail for head, end in _FIRST_AND_LAST_BYTES.items()
    )


def _report(
    task: Task, images: ListedImages, missing: dict[str, str], raw: Path, progress: Progress
) -> None:
    if not missing:
        return
    file = raw / f"{images.folder}_missing.csv"
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["name", "reason"])
        writer.writerows(sorted(missing.items()))
    file.chmod(0o644)
    name, why = min(missing.items())
    progress.say(
        f"{task.id}: {len(missing):,} images are missing and left out, first: {name}: {why}"
    )
