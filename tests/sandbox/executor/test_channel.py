"""The harness believes nobody but the executor that it asked."""

import asyncio
import json
import socket
import struct
from collections.abc import Callable

import pytest

from mlagentbench.guest.executor import receive, receive_descriptors, send
from mlagentbench.sandbox.executor.channel import Answer, ExecutorGone, Request
from mlagentbench.sandbox.executor.seccomp import sandbox_filter

Reply = Callable[[socket.socket, str], None]


def ask(reply: Reply) -> Answer:
    """Ask an executor that replies like this."""

    async def run() -> Answer:
        control, executor = socket.socketpair()
        request = Request(control)
        await request.send(kind="read", path="x")
        _message, (descriptor,) = receive_descriptors(executor, 1, 4)
        with socket.socket(fileno=descriptor) as inside:
            reply(inside, json.loads(receive(inside))["nonce"])
        try:
            return await request.answer()
        finally:
            request.close()
            control.close()
            executor.close()

    return asyncio.run(run())


def test_the_answer_to_this_request_is_taken() -> None:
    def honest(inside: socket.socket, nonce: str) -> None:
        send(inside, json.dumps({"nonce": nonce, "exit_code": 5}).encode())

    assert ask(honest).exit_code == 5


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({"nonce": "0" * 16, "exit_code": 0}).encode(),
        json.dumps({"exit_code": 0}).encode(),
        json.dumps({"nonce": 1, "surplus": True}).encode(),
        b"\xff\xfe",
        b"[]",
    ],
)
def test_any_other_answer_is_refused(payload: bytes) -> None:
    with pytest.raises(ExecutorGone):
        ask(lambda inside, _nonce: send(inside, payload))


@pytest.mark.parametrize("raw", [b"", b"\x00\x00", struct.pack(">I", 2**31) + b"x"])
def test_torn_and_huge_frames_are_refused(raw: bytes) -> None:
    with pytest.raises(ExecutorGone):
        ask(lambda inside, _nonce: inside.sendall(raw))


def test_the_filter_has_whole_instructions() -> None:
    program = sandbox_filter("any")
    assert program is None or (len(program) % 8 == 0 and len(program) > 100)
