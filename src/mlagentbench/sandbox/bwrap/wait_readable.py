"""Waiting for a descriptor on the running event loop."""

import asyncio
from collections.abc import Callable


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    await _seen(descriptor, loop.add_reader, loop.remove_reader)


async def writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    await _seen(descriptor, loop.add_writer, loop.remove_writer)


async def _seen(
    descriptor: int,
    add: Callable[[int, Callable[[], None]], None],
    remove: Callable[[int], bool],
) -> None:
    ready = asyncio.get_running_loop().create_future()

    def done() -> None:
        if not ready.done():
            ready.set_result(None)

    add(descriptor, done)
    try:
        await ready
    finally:
        remove(descriptor)
