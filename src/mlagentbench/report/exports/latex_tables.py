"""LaTeX tables in the style of booktabs, one file each."""

import re
from collections.abc import Iterator

from mlagentbench.report.exports.paper_grids import Grid, grids
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.untrusted_text import visible

_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    '"': "''",
}
_LATEX_SPECIAL = re.compile("[" + re.escape("".join(_LATEX_SIGNS)) + "]")


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for grid in grids(data):
        yield f"{grid.name}.tex", latex(grid).encode()


def latex(grid: Grid) -> str:
    """A table in the style of booktabs; \\input it where \\usepackage{booktabs} is."""
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_escaped(grid.title)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
        "\\toprule",
        _latex_row(grid.head, grid.columns),
        "\\midrule",
    ]
    for line in grid.lines:
        if line.is_summary:
            lines.append("\\midrule")
        lines.append(_latex_row(line.label, line.values))
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"\\par\\footnotesize {_escaped(note)}" for note in grid.notes]
    return "\n".join([*lines, "\\end{table}", ""])


def _latex_row(label: str, values: tuple[str, ...]) -> str:
    return " & ".join(map(_escaped, (label, *values))) + r" \\"


def _escaped(text: str) -> str:
    escaped = _LATEX_SPECIAL.sub(lambda sign: _LATEX_SIGNS[sign[0]], visible(text))
    return re.sub(r"^\[", "{[}", re.sub(r"^-(?=\d)", "$-$", escaped))
