"""A process that takes a slot: `python slot_holder.py CPUS MEMORY`; it prints what it has.

It says "waits ..." when it has to wait and "holds CORES" when it has its slot, which it gives back
when its standard input ends.
"""

import asyncio
import sys

from mlagentbench.machine.ledger import Need
from mlagentbench.machine.slots import take_slot


def say(text: str) -> None:
    print(text, flush=True)


async def main(cpus: int, memory: int) -> None:
    need = Need(cpus=cpus, memory=memory)
    with await take_slot(need, "holder", lambda text: say(f"waits {text}")) as held:
        say(f"holds {','.join(map(str, held.slot.cpus))}")
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
