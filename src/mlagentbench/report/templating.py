"""The templates of the site: compiled once, everything escaped, nothing undefined."""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mlagentbench.evaluation.findings import Finding
from mlagentbench.report import formats
from mlagentbench.report.clipping import preview, visible
from mlagentbench.report.heat_colours import heat_css

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = "mlagentbench.report"
STYLES, SCRIPTS = "site.css", "site.js"


@cache
def environment() -> "Environment":
    """Jinja's environment with our filters; templates are compiled when they are first used."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    jinja = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )
    jinja.filters |= {
        "preview": preview,
        "exact": formats.exact,
        "figure": formats.figure_text,
        "normalised": formats.normalised_text,
        "percent": formats.percent_text,
        "interval": formats.interval_text,
        "percent_interval": formats.percent_interval_text,
        "tokens": formats.tokens_text,
        "dollars": formats.dollars_text,
        "duration": formats.duration_text,
        "p_value": formats.p_text,
        "thousands": thousands,
        "px": px,
        "finding_name": finding_name,
        "task_page": task_page,
    }
    return jinja


def _shown(value: object) -> object:
    """What stands on a page of a value: of plain texts, also what cannot be seen."""
    return visible(value) if type(value) is str else value


def render(template: str, **values: object) -> str:
    return environment().get_template(template).render(**values)


def thousands(number: int) -> str:
    return f"{number:,}"


def px(length: float) -> str:
    """A length in a drawing, as short as can be."""
    return f"{length:.1f}".removesuffix(".0")


def task_page(task: str) -> str:
    """The file of a task's page, in tasks/."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", task) + ".html"


def finding_name(finding: Finding) -> str:
    """A finding's kind in words, with its level or form."""
    detail = finding.level or finding.form
    name = finding.kind.replace("-", " ")
    return f"{name}: {detail}" if detail else name


def style_sheet() -> str:
    """The site's style sheet, with the colours of its heatmaps."""
    return _text(f"templates/{STYLES}") + heat_css()


def script() -> str:
    return _text(f"templates/{SCRIPTS}")


@cache
def look() -> str:
    """A hash that changes whenever pages may look different though their runs are the same."""
    sha = hashlib.sha256()
    for folder in ("", "pages", "templates"):
        for file in sorted((files(PACKAGE) / folder).iterdir(), key=lambda one: one.name):
            if file.is_file() and file.name.endswith((".py", ".html", ".css", ".js")):
                sha.update(file.read_bytes())
    return sha.hexdigest()


def _text(path: str) -> str:
    return (files(PACKAGE) / path).read_text("utf-8")
