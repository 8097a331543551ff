"""The report as a static site that opens from disk: pages, style sheet and script, side by side.

    TO/
      index.html agents.html process.html efficiency.html runs.html
      tasks/TASK.html              what a task's scores mean, and each agent's scores
      agents/AGENT.html            what an agent is, its results by task, its runs
      runs/NAME.html               one run, step by step
      assets/                      the style sheet and the script
      manifest.json                the fingerprint of each run's page

A run's page is written again only when the run or our code has changed.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import parse_json, read_regular, write_atomically
from mlagentbench.report.cache import package_hash
from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.report.site import rendering
from mlagentbench.report.site.pages import (
    agent_page,
    agents_page,
    efficiency_page,
    judge_votes,
    overview_page,
    process_page,
    run_page,
    runs_page,
    task_page,
)
from mlagentbench.report.site.pages.branch_family import Family, families

PAGES = (
    ("index.html", "Overview"),
    ("agents.html", "Agents"),
    ("process.html", "Process"),
    ("efficiency.html", "Efficiency"),
    ("runs.html", "Runs"),
)
MANIFEST = "manifest.json"
MOST_UNREADABLE = 200
"""Unreadable runs that are listed individually."""


@dataclass(frozen=True)
class Frame:
    """What all pages share."""

    generated_at: str
    command: str
    bundle: str | None

    def write(self, to: Path, address: str, template: str, **values: object) -> None:
        write_atomically(to / address, self.render(address, template, **values))

    def render(self, address: str, template: str, **values: object) -> bytes:
        page = rendering.render(
            template,
            root="../" * address.count("/"),
            here=address,
            pages=PAGES,
            generated_at=self.generated_at,
            command=self.command,
            bundle=self.bundle,
            **values,
        )
        return page.encode("utf-8", "replace")


def build_site(data: ReportData, to: Path) -> Path:
    """Write or update the site below `to`; returns its first page."""
    frame = Frame(data.generated_at, data.command, data.logs_bundle)
    write_run_pages(data.collection.runs, to, frame)
    write_atomically(to / "assets" / rendering.STYLES, rendering.style_sheet().encode())
    write_atomically(to / "assets" / rendering.SCRIPTS, rendering.script().encode())
    for task in task_page.task_views(data):
        frame.write(to, f"tasks/{rendering.task_page(task.task)}", task_page.TEMPLATE, view=task)
    for agent in agent_page.agent_views(data):
        address = f"agents/{rendering.agent_page(agent.name)}"
        frame.write(to, address, agent_page.TEMPLATE, view=agent)
    frame.write(to, "runs.html", runs_page.TEMPLATE, view=runs_page.runs_view(data))
    efficiency = efficiency_page.efficiency_view(data)
    frame.write(to, "efficiency.html", efficiency_page.TEMPLATE, view=efficiency)
    frame.write(to, "process.html", process_page.TEMPLATE, view=process_page.process_view(data))
    frame.write(to, "agents.html", agents_page.TEMPLATE, view=agents_page.agents_view(data))
    overview = overview_page.overview_view(data)
    frame.write(to, "index.html", overview_page.TEMPLATE, view=overview, most=MOST_UNREADABLE)
    return to / "index.html"


def write_run_pages(collected: tuple[CollectedRun, ...], to: Path, frame: Frame) -> int:
    """Write the pages of runs that are new or changed, remove those of runs that are gone.

    The manifest is written last, so that after a crash the pages are written again.
    """
    manifest = to / MANIFEST
    before = _read_manifest(manifest)
    (to / "runs").mkdir(parents=True, exist_ok=True)
    if not before:
        write_atomically(manifest, b"{}")
    now: dict[str, str] = {}
    related = families(collected)
    written = 0
    for one in collected:
        now[one.name] = _page_fingerprint(one, related.get(one.name), frame)
        place = to / "runs" / f"{one.name}.html"
        if before.get(one.name) != now[one.name] or not place.is_file():
            place.write_bytes(_run_page(one, related.get(one.name), frame))
            written += 1
    for name in before.keys() - now.keys():
        (to / "runs" / f"{name}.html").unlink(missing_ok=True)
    write_atomically(manifest, json.dumps(now, indent=0, sort_keys=True).encode())
    return written


def _run_page(one: CollectedRun, family: Family | None, frame: Frame) -> bytes:
    view = run_page.run_view(one, family)
    address = f"runs/{one.name}.html"
    return frame.render(address, run_page.TEMPLATE, view=view, questions=judge_votes.QUESTIONS)


def _page_fingerprint(one: CollectedRun, family: Family | None, frame: Frame) -> str:
    """A hash that changes with the run and its judgements, its family, and our code."""
    parts = [one.fingerprint, package_hash(), frame.bundle or "", str(one.directory), repr(family)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _read_manifest(file: Path) -> dict[str, str]:
    """The fingerprint of each page; empty when unknown, so that all pages are written again."""
    try:
        found = parse_json(read_regular(file))
    except (OSError, ValueError, UsageError):
        return {}
    if not isinstance(found, dict):
        return {}
    # A page that is gone is removed by its name, which must not lead elsewhere.
    known = ((name, value) for name, value in found.items() if isinstance(value, str))
    return {name: value for name, value in known if "/" not in name and "\0" not in name}
