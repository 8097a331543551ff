"""A description of the initial workspace: the starter's texts and a preview of the data."""

from pathlib import Path

from mlagentbench.environment.environment import Environment

TEXTS = {".py", ".md", ".txt", ".json", ".sh", ".toml", ".yaml", ".yml", ".cfg"}
MAX_TEXT = 8_000
MAX_LINE = 200
FIRST_LINES = 3
FIRST_BYTES = 4_096
FIRST_NAMES = 5


def workspace_view(environment: Environment) -> str:
    """The starter's text files in full, and the beginnings of the data files."""
    protected = environment.workspace.protected
    starter = environment.task.starter
    parts = []
    for path in sorted(starter.rglob("*")):
        name = path.relative_to(starter).as_posix()
        if path.is_file() and "__pycache__" not in path.parts:
            read_only = ", read-only" if path.relative_to(starter).parts[0] in protected else ""
            parts.append(f"### {name}{read_only}\n{_text(path)}")
    for name, path in protected.items():
        if not path.is_relative_to(starter):
            parts.append(f"### {name}, data, read-only\n{_preview(path)}")
    return "\n\n".join(parts)


def _text(path: Path) -> str:
    if path.suffix not in TEXTS:
        return f"{path.stat().st_size:,} bytes"
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    cut = "" if len(text) <= MAX_TEXT else f"\n[... {len(text) - MAX_TEXT:,} characters more]"
    return f"```\n{text[:MAX_TEXT]}{cut}\n```"


def _preview(path: Path) -> str:
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir())
        more = ", ..." if len(names) > FIRST_NAMES else ""
        return f"a directory of {len(names):,} entries: {', '.join(names[:FIRST_NAMES])}{more}"
    size = f"{path.stat().st_size:,} bytes"
    with path.open("rb") as file:
        beginning = file.read(FIRST_BYTES)
    if b"\0" in beginning:
        return f"{size}, binary"
    lines = beginning.decode("utf-8", "replace").splitlines()[:FIRST_LINES]
    shown = (line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} ..." for line in lines)
    return "\n".join([f"{size}; it begins:", "```", *shown, "```"])
