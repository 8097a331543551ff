"""A harness that starts sandboxes and is killed: `python harness_to_kill.py WORKSPACE SIZE`.

SIZE, a file size limit that nobody else has, stands on the command lines of all its processes.
"""

import asyncio
import sys
from pathlib import Path

from sandboxes import sandbox_on

from mlagentbench.fs import make_scratch_directory
from mlagentbench.sandbox.base import Limits


async def main() -> None:
    workspace, size = Path(sys.argv[1]), int(sys.argv[2])
    print("starting", flush=True)
    async with sandbox_on(workspace, limits=Limits(file_size=size)) as sandbox:
        print("started", flush=True)
        (make_scratch_directory("test") / "closed" / "inner").mkdir(parents=True, mode=0)
        await sandbox.run_and_leave(["sh", "-c", f"setsid sleep 1{size} >/dev/null 2>&1 &"])
        await sandbox.run(["sh", "-c", f"echo > running; setsid sleep 1{size} & sleep 1{size}"])


asyncio.run(main())
