"""Images downloaded one by one, from the URLs that a file of the source lists.

HOME/downloads/TASK/vN/FOLDER/ keeps what has arrived, so that running the same command again
downloads only the rest. Images that are gone, which their servers say (404 or 410), are listed in
raw/FOLDER_missing.csv, for the task's prepare() to leave out; too many of them are an error. Images
that could not be fetched for other reasons, or that arrive damaged, are an error at once: they may
be there tomorrow. Only `--accept-unverified` leaves them out, too. The user's own images are
checked like those that arrive, and damaged ones are fetched.
"""

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.home import downloads_dir
from mlagentbench.tasks.data.archives import FilePlace, SearchPlaces
from mlagentbench.tasks.data.download import FileNotInSource, download, http_client
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.data.raw_files import RawFiles
from mlagentbench.tasks.spec import ListedImages
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    import httpx

AT_ONCE = 8
"""Images downloaded at the same time."""
TRIES = 2
"""Downloads of an image that arrives damaged."""
REPORTS = 20
MOST_FAILED = 16
"""Fetching ends after so many images that could not be fetched: the network is down."""

_FIRST_AND_LAST_BYTES = {b"\x89PNG\r\n\x1a\n": b"IEND\xaeB`\x82", b"\xff\xd8\xff": b"\xff\xd9"}
"""The first and last bytes of PNG and JPEG files; some cameras append a little to a JPEG."""
_TAIL = 1024


class ListedImage(NamedTuple):
    """An image of the listing."""

    name: str
    url: str


async def gather_images(
    task: Task,
    images: ListedImages,
    files: RawFiles,
    *,
    places: SearchPlaces | None,
    accept_unverified: bool,
    progress: Progress,
) -> list[str]:
    """Collect the listed images in FOLDER, from the user's places or the network.

    Returns the differences that were accepted: images left out although they may exist.
    """
    wanted = read_listing(task, files.root / images.listing)
    (files.root / images.folder).mkdir(parents=True)

    def inside(name: str) -> str:
        return f"{images.folder}/{name}"

    if places is not None:
        progress.say(f"{task.id}: taking {images.folder}/ from {places.directory}")
        lacking = {image.name for image in wanted}
        damaged: set[str] = set()
        for name, contents in places.read(images.folder, lacking):
            if _is_complete(contents):
                files.take(inside(name), io.BytesIO(contents))
                lacking.discard(name)
            else:
                damaged.add(name)
        if lacking:
            _say_own_problems(task, images, places, damaged & lacking, progress)
    rest = [image for image in wanted if inside(image.name) not in files]
    fetching = _Fetching(task, images, len(wanted), progress)
    if rest:
        await fetching.fetch(rest)
    accepted = fetching.require_fetched(accept_unverified)
    for image in rest:
        if fetching.has(image):
            place = fetching.place(image)
            size = place.stat().st_size
            files.copy(FilePlace(file=place, size=size, ours=True), inside(image.name))
    _report(task, images, fetching.left_out, files, progress)
    return accepted


def _say_own_problems(
    task: Task, images: ListedImages, places: SearchPlaces, damaged: set[str], progress: Progress
) -> None:
    if damaged:
        progress.say(
            f"{task.id}: {len(damaged):,} images in {places.directory} are not complete PNG or "
            f"JPEG files and are fetched instead, first: {images.folder}/{min(damaged)}"
        )
    for problem in places.problems:
        progress.say(f"{task.id}: {problem}")


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
        self.asked = 0
        self.gone: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.folder = downloads_dir(task.original_id, task.spec.version) / images.folder

    @property
    def left_out(self) -> dict[str, str]:
        return {**self.gone, **self.failed}

    def place(self, image: ListedImage) -> Path:
        return self.folder / image.name

    def has(self, image: ListedImage) -> bool:
        return self.place(image).is_file() and is_complete_image(self.place(image))

    async def fetch(self, images: list[ListedImage]) -> None:
        """Download all, several at once; notes the reason for each that does not arrive."""
        there = sum(map(self.has, images))
        self.progress.say(
            f"{self.task.id}: fetching {len(images) - there:,} images"
            + (f", {there:,} are here already" if there else "")
        )
        images = [image for image in images if not self.has(image)]
        queue = iter(images)
        try:
            async with http_client(timeout=60.0) as client, asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(self._work(queue, len(images), client))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for image in queue:
            self.failed[image.name] = "not asked for, after too many others had failed"

    async def _work(
        self, queue: Iterator[ListedImage], count: int, client: "httpx.AsyncClient"
    ) -> None:
        while len(self.failed) < MOST_FAILED and (image := next(queue, None)) is not None:
            await self._fetch_one(image, client)
            self.require_few_gone()
            self.asked += 1
            if self.asked % max(1, count // REPORTS) == 0:
                self.progress.say(f"{self.task.id}: {self.asked:,} of {count:,} images")

    async def _fetch_one(self, image: ListedImage, client: "httpx.AsyncClient") -> None:
        """Download an image from its URL or a mirror; notes the reason when that fails.

        It is gone only if every address says so.
        """
        gone, failed = "", ""
        for url in self._addresses(image.url):
            for _ in range(TRIES):
                try:
                    await download(url, self.place(image), self.tally, client=client)
                except FileNotInSource as error:
                    gone = str(error)
                    break
                except UsageError as error:
                    failed = str(error)
                    break
                if is_complete_image(self.place(image)):
                    return
                self.place(image).unlink()
                failed = f"{url}: what arrives is not a complete PNG or JPEG file"
        if failed:
            self.failed[image.name] = failed
        else:
            self.gone[image.name] = gone

    def _addresses(self, url: str) -> Iterator[str]:
        yield url
        for beginning, other in self.images.mirrors.items():
            if url.startswith(beginning):
                yield other + url.removeprefix(beginning)

    def require_few_gone(self) -> None:
        """Raise a UsageError with the next step when too many images are gone."""
        if len(self.gone) > self._most_left_out:
            raise UsageError(
                f"{self.task.id}: {len(self.gone):,} or more of the {self.total:,} images in "
                f"{self.images.listing} are gone, which is over "
                f"{100 * self.images.most_missing:g} %; first: {_first(self.gone)}\n"
                f"If you have the images, {self._by_hand}"
            )

    def require_fetched(self, accept_unverified: bool) -> list[str]:
        """Raise a UsageError for images that could not be fetched; the difference if accepted."""
        if not self.failed:
            return []
        what = f"{len(self.failed):,} of {self.total:,} images could not be fetched"
        if accept_unverified and len(self.left_out) <= self._most_left_out:
            return [f"{self.images.folder}/: {what}"]
        raise UsageError(
            f"{self.task.id}: {what}, which does not mean that they are gone; first: "
            f"{_first(self.failed)}\n"
            "Check your network connection and run the same command again: what has arrived is "
            f"kept. Or {self._by_hand} With --accept-unverified, up to "
            f"{100 * self.images.most_missing:g} % of the images may be left out; every result "
            "will then say so"
        )

    @property
    def _most_left_out(self) -> float:
        return self.images.most_missing * self.total

    @property
    def _by_hand(self) -> str:
        return (
            f"put the images into DIR/{self.images.folder}/, beside the other files of the "
            f"source, and run: mlagentbench tasks prepare {self.task.address} --tier full "
            "--from DIR."
        )


def _first(reasons: dict[str, str]) -> str:
    name, why = min(reasons.items())
    return f"{name}: {why}"


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
        return _is_complete(start + handle.read())


def _is_complete(contents: bytes) -> bool:
    return any(
        contents.startswith(head) and end in contents[-_TAIL:]
        for head, end in _FIRST_AND_LAST_BYTES.items()
    )


def _report(
    task: Task, images: ListedImages, missing: dict[str, str], files: RawFiles, progress: Progress
) -> None:
    if not missing:
        return
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "reason"])
    writer.writerows(sorted(missing.items()))
    files.take(f"{images.folder}_missing.csv", io.BytesIO(text.getvalue().encode()))
    progress.say(
        f"{task.id}: {len(missing):,} images are missing and left out, first: {_first(missing)}"
    )
