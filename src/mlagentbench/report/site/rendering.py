"""The site's Jinja templates: compiled once, everything escaped, undefined names are errors."""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mlagentbench.analysis.findings import Finding
from mlagentbench.numeric import number_format
from mlagentbench.report.site.heat_colours import heat_css
from mlagentbench.report.site.rung_chart import rung_css
from mlagentbench.untrusted_text import preview, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PACKAGE = "mlagentbench.report.site"
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
        finalize=_displayed,
    )
    jinja.filters |= {
        "preview": preview,
        "exact": number_format.exact,
        "number": number_format.number_text,
        "spread": number_format.spread_text,
        "fixed": number_format.fixed,
        "signed": number_format.signed,
        "counted": number_format.counted,
        "normalised": number_format.normalised_text,
        "percent": number_format.percent_text,
        "interval": number_format.interval_text,
        "percent_interval": number_format.percent_interval_text,
        "tokens": number_format.tokens_text,
        "dollars": number_format.dollars_text,
        "duration": number_format.duration_text,
        "p_value": number_format.p_text,
        "thousands": thousands,
        "px": px,
        "finding_name": finding_name,
        "task_page": task_page,
        "agent_page": agent_page,
        "breakable": breakable,
    }
    return jinja


def _displayed(value: object) -> object:
    """A value as it appears on a page; invisible characters of plain text become visible."""
    return visible(value) if type(value) is str else value


def render(template: str, **values: object) -> str:
    return environment().get_template(template).render(**values)


def thousands(number: int) -> str:
    return f"{number:,}"


def px(length: float) -> str:
    """A length in a drawing, rounded to a tenth."""
    return f"{length:.1f}".removesuffix(".0")


def task_page(task: str) -> str:
    """The file of a task's page, in tasks/."""
    return f"{_file_name(task)}.html"


def agent_page(name: str) -> str:
    """The file of the page of an agent with its model, in agents/."""
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{_file_name(name)[:60]}-{digest}.html"


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


def breakable(name: str) -> "Markup":
    """A long name, such as an agent's with its settings, with places where a line may break."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([/(=,_])", r"\1<wbr>", str(escape(visible(name)))))


def finding_name(finding: Finding) -> str:
    """A finding's kind as a text, with its level or form."""
    detail = finding.level or finding.form
    name = finding.kind.replace("-", " ")
    return f"{name}: {detail}" if detail else name


def style_sheet() -> str:
    """The site's style sheet, with the colours of its heatmaps and rungs."""
    return _text(f"templates/{STYLES}") + heat_css() + rung_css()


def script() -> str:
    return _text(f"templates/{SCRIPTS}")


def _text(path: str) -> str:
    return (files(PACKAGE) / path).read_text("utf-8")
