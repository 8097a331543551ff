"""`make bench`: the cost of the harness, as ratios to the bare operation in the same run.

Repetitions are interleaved and medians compared, because machines are noisy. The table is printed;
the measurements, with machine and commit, are written to bench/results/bench.json. A full run takes
about 15 minutes. `make bench ONLY="steps storage"` measures these parts and keeps the others.
"""

import argparse
import sys
from collections.abc import Callable

import container_steps
import draw_costs
import grading_costs
import parsing
import react_steps
import scheduling
import slots
import start_up
import steps
import storage
import whole_runs
from measurements import Measurement, interleaved, print_table, ratio
from report import report_measurements
from stored_results import keep

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import load_task


def parsed_replies() -> list[Measurement]:
    """A long reply of a text agent against as many characters in short ones: 1 when linear."""
    sound, sound_short = interleaved(parsing.parse_long, parsing.parse_short, rounds=10)
    hostile, hostile_short = interleaved(
        parsing.parse_long_hostile, parsing.parse_short_hostile, rounds=3
    )
    return [
        ratio("parsing a reply of 1 MB / 100 of 10 kB", sound, sound_short, target=1.5),
        ratio("parsing hostile replies of 1 MB / of 10 kB", hostile, hostile_short, target=1.5),
    ]


def parts() -> dict[str, Callable[[], list[Measurement]]]:
    """All that can be measured, by the name it can be asked for."""
    env = ensure_ready(load_task("vectorization"), "mini", call=call_task).python_env.directory
    return {
        "command-line": start_up.command_line,
        "start-up": lambda: [start_up.start_of_a_run()],
        "steps": lambda: [
            steps.sandbox_start(env),
            steps.step(env, files=1, size=steps.MILLION, target=1.5),
            steps.step(env, files=200, size=steps.MILLION, target=1.6),
            steps.step(env, files=20_000, size=steps.MILLION // 100, target=3.0),
            *steps.step_parts(env),
        ],
        "docker": lambda: [container_steps.container_step()],
        "restricted-start": lambda: [steps.restricted_start(env)],
        "repl": lambda: [steps.repl_step(files=20_000)],
        "starts": lambda: [steps.starting_together(runs=64)],
        "tool-calls": steps.tool_call_steps,
        "react-step": lambda: [react_steps.react_step(env)],
        "first-snapshot": lambda: [storage.first_snapshot()],
        "storage": lambda: [storage.stored_bytes(), storage.restoring()],
        "whole-runs": lambda: [whole_runs.whole_run()],
        "side-by-side": whole_runs.side_by_side,
        "scheduling": scheduling.scheduling,
        "timed-grading": grading_costs.timed_grading_under_load,
        "slots": slots.slot_measurements,
        "draws": draw_costs.draw_costs,
        "regrading": lambda: [grading_costs.regrading()],
        "parsing": parsed_replies,
        "report": report_measurements,
    }


def main() -> None:
    available = parts()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(available))
    chosen = parser.parse_args().parts
    if unknown := set(chosen) - available.keys():
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(available)}")
    measurements: list[Measurement] = []
    for name in chosen or available:
        print(f"measuring {name}", file=sys.stderr)
        measured = available[name]()
        keep("bench.json", name, measured)
        measurements += measured
    print_table(measurements)


if __name__ == "__main__":
    main()
