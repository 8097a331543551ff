"""What `mlagentbench runs regrade` prints."""

from collections.abc import Iterable

from rich.table import Table

from mlagentbench.grading.rungs import rung_of
from mlagentbench.numeric.number_format import NOTHING, number_text, signed
from mlagentbench.records import GradeRecord
from mlagentbench.statistics.cell_marks import tool_notes
from mlagentbench.terminal import Terminal, print_json


def print_grades(runs: Iterable[tuple[str, Iterable[GradeRecord]]], *, as_json: bool) -> None:
    """The grades of runs, a line for each step that was graded."""
    if as_json:
        values = [
            {"run": run, "grades": [grade.model_dump(mode="json") for grade in grades]}
            for run, grades in runs
        ]
        print_json(values)
        return
    console = Terminal()
    for run, grades in runs:
        console.heading(run)
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("step", "score", "normalised", "rung", "success", "paper's improvement"):
            table.add_column(heading, justify="right")
        table.add_column("remark", overflow="fold")
        for grade in grades:
            gain = grade.paper_improvement
            table.add_row(
                str(grade.step),
                number_text(grade.score),
                signed(grade.normalised, 2),
                rung_of(grade),
                {True: "yes", False: "no", None: NOTHING}[grade.success],
                NOTHING if gain is None else f"{signed(100 * gain, 1)} %",
                grade.reason or grade.success_reason or "",
            )
        console.print(table)
        for note in tool_notes(list(grades)):
            console.print(f"  {note}", style="dim")
