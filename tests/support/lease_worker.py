"""A process that holds a run and writes to it: `python lease_worker.py OUT WHAT [N]`.

note N    append N notes, one every hundredth of a second
freeze    pass the look at the lease, stop itself by SIGSTOP, and write the line when it wakes
tear      the same, and write only half of the line
hold      say "held", and wait until standard input ends
"""

import os
import signal
import sys
import time
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.runs import hash_chain
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.hash_chain import append_line
from mlagentbench.runs.journal import EventLine, Journal

RUN = Path("runs/t/mini/nop-0/none/1")


def note(run: HeldRun, name: str, number: int) -> None:
    """Append notes to the journal, and a grade after each."""
    journal = Journal(run.journal, run.appended_files, run.lease)
    for count in range(number):
        journal.append(EventLine, count, event="note", detail=f"{name} {count}")
        append_line(run.grades, b'{"by":"%s"}' % name.encode(), run.journal, run.lease)
        time.sleep(0.01)
    journal.close()


def stop_before_writing(half: bool) -> None:
    """The next line is only written after this process was stopped and continued."""
    write_all = vars(hash_chain)["write_all"]

    def stop_and_write(target: int, contents: bytes) -> None:
        vars(hash_chain)["write_all"] = write_all
        print("frozen", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        write_all(target, contents[: len(contents) // 2] if half else contents)
        if half:
            os._exit(0)

    vars(hash_chain)["write_all"] = stop_and_write


def main() -> None:
    out, what = Path(sys.argv[1]), sys.argv[2]
    with RunDirectory(out, RUN).hold() as run:
        print("held", flush=True)
        if what == "hold":
            sys.stdin.read()
        elif what == "note":
            note(run, "worker", int(sys.argv[3]))
        else:
            note(run, "before", 2)
            stop_before_writing(half=what == "tear")
            try:
                note(run, "stale", 3)
            except RunFailed as failure:
                print(failure, flush=True)


if __name__ == "__main__":
    main()
