"""The renamed variant of a task, `TASK@renamed`: the same data and problem under other names.

A model whose training data include a data set knows its columns and values by name. The renamed
variant replaces columns, labels, ids and words of the problem, and changes numbers affinely where
the metric allows, so that its score does not depend on memorisation.

HOME/variants/TASK-renamed/HASH/TASK-renamed/   a task folder like any other, made from the task's
  task.toml problem.md starter/ solution/ trivial.py grade.py   with all names replaced
  mini.py full.py original_prepare.py                           as they are
  prepare.py rename_tables.py renaming.json                     prepare, then rename the tables
  renamed_prepare.py                      for hold_out and resplit, which see new names
"""

import hashlib
import io
import re
import shutil
import tokenize
from pathlib import Path

import tomlkit

from mlagentbench.errors import UsageError
from mlagentbench.fs import whole_directory
from mlagentbench.guest import rename_tables
from mlagentbench.guest.rename_tables import Renaming
from mlagentbench.home import home
from mlagentbench.tasks.spec import Renamed
from mlagentbench.tasks.task import HARD, RENAMED, Task

BRACKETS = ({"(", "[", "{"}, {")", "]", "}"})
UNCHANGED_FILES = ("mini.py", "full.py")

_PREPARE = '''"""Prepares the data as the task itself does, and then renames them. ({recipe})"""

from pathlib import Path

import original_prepare
from rename_tables import Renaming, rename_tables


def prepare(raw, public, private, rng):
    original_prepare.prepare(raw, public, private, rng)
    rename(public, private)


def rename(public, private):
    renaming = Renaming.read(Path(__file__).with_name("renaming.json"))
    for directory in (public, private):
        rename_tables(directory, renaming)
'''
_RESPLIT = """

def resplit(raw, given_public, given_private, public, private, rng):
    import renamed_prepare

    renamed_prepare.resplit(raw, given_public, given_private, public, private, rng)
"""
_CHECK_RAW = """

def check_raw(raw):
    return original_prepare.check_raw(raw)
"""
_HOLD_OUT = """

def hold_out(public, held_public, held_private, rng):
    import renamed_prepare

    renamed_prepare.hold_out(public, held_public, held_private, rng)
"""

_LEFT_OUT = {"__pycache__", HARD}
"""Folders that a variant does not have."""


def renamed_folder(task: Task) -> Path:
    """The folder of a task's renamed variant, created unless it exists."""
    if task.spec.renamed is None:
        raise UsageError(
            f"{task.id} has no renamed variant: its task.toml has no [renamed] table "
            "(tables and texts can be renamed, pictures cannot)"
        )
    name = f"{task.id}-{RENAMED}"
    place = home() / "variants" / name / _hash(task)
    folder = place / name
    if folder.is_dir():
        return folder
    place.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(place) as unfinished:
        _make(task, task.spec.renamed, unfinished / name)
    return folder


def _hash(task: Task) -> str:
    digest = hashlib.sha256(f"1/{task.id}\n".encode())
    ours = [Path(__file__), Path(rename_tables.__file__)]
    copied = (
        path
        for path in task.folder.rglob("*")
        if path.is_file() and not _LEFT_OUT & set(path.relative_to(task.folder).parts)
    )
    for file in [*ours, *sorted(copied)]:
        contents = file.read_bytes()
        digest.update(f"{file.name}\0{len(contents)}\n".encode() + contents)
    return digest.hexdigest()[:32]


def _recipe(folder: Path) -> str:
    """A hash of what determines the renamed data; prepare.py contains it."""
    names = ("original_prepare.py", "rename_tables.py", "renaming.json")
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()


def _make(task: Task, spec: Renamed, target: Path) -> None:
    renaming = Renaming(
        key=f"{task.id}/v{task.spec.version}/{RENAMED}",
        columns=list(spec.columns),
        words=list(spec.words),
        values=list(spec.values),
        ids=list(spec.ids),
        scaled=[list(group) for group in spec.scaled],
        shifted=[list(group) for group in spec.shifted],
    )
    _require_distinct(task, renaming)
    shutil.copytree(task.folder, target, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    original = target / "prepare.py"
    shutil.copyfile(original, target / "original_prepare.py")
    original.rename(target / "renamed_prepare.py")
    keep = {*UNCHANGED_FILES, "original_prepare.py", "task.toml"}
    for file in sorted(path for path in target.rglob("*") if path.is_file()):
        if file.relative_to(target).as_posix() in keep:
            continue
        if file.suffix == ".py":
            seen = file.is_relative_to(target / "starter")
            text = rename_program(file.read_text("utf-8"), renaming, spec.text, seen=seen)
        elif file.suffix in (".md", ".txt"):
            text = rename_text(file.read_text("utf-8"), renaming, spec.text)
        else:
            continue
        file.write_text(text, encoding="utf-8")
    renaming.write(target / "renaming.json")
    shutil.copyfile(rename_tables.__file__, target / "rename_tables.py")
    prepare = _PREPARE.format(recipe=_recipe(target))
    if task.defines("prepare.resplit"):
        prepare += _RESPLIT
    if task.defines("prepare.check_raw"):
        prepare += _CHECK_RAW
    if task.defines("prepare.hold_out"):
        prepare += _HOLD_OUT
    (target / "prepare.py").write_text(prepare, encoding="utf-8")
    _write_spec(task, renaming, spec.text, target)


def _require_distinct(task: Task, renaming: Renaming) -> None:
    names = {*renaming.columns, *renaming.words}
    if len({renaming.name(name) for name in names}) < len(names):
        raise UsageError(
            f"{task.id}: two names get the same new one; raise the task's version, from which new "
            "names follow"
        )


def rename_text(text: str, renaming: Renaming, phrases: dict[str, str]) -> str:
    """A text with phrases replaced as the task says, and then columns and words renamed."""
    for phrase, other in phrases.items():
        start, end = (r"\b" if edge.isalnum() else "" for edge in (phrase[0], phrase[-1]))
        escaped = other.replace("\\", r"\\")
        text = re.sub(f"{start}{re.escape(phrase)}{end}", escaped, text)
    return renaming.text(text)


def rename_program(source: str, renaming: Renaming, phrases: dict[str, str], *, seen: bool) -> str:
    """A program with the names in its texts, comments and keyword arguments replaced.

    In a program that is `seen` by the agent, variables named by a phrase are replaced, too.
    """
    variables = phrases if seen else {}
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    changes = []
    depth = 0
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        depth += (token.string in BRACKETS[0]) - (token.string in BRACKETS[1])
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            new = rename_text(token.string, renaming, phrases)
        elif token.type == tokenize.NAME:
            is_keyword = depth > 0 and following.string == "="
            is_column = is_keyword and token.string in renaming.columns
            new = renaming.name(token.string) if is_column else variables.get(token.string, "")
        else:
            continue
        if new and new != token.string:
            changes.append((token.start, token.end, new))
    for start, end, new in reversed(changes):
        before = lines[start[0] - 1][: start[1]]
        after = lines[end[0] - 1][end[1] :]
        lines[start[0] - 1 : end[0]] = [before + new + after]
    return "".join(lines)


def _write_spec(task: Task, renaming: Renaming, phrases: dict[str, str], target: Path) -> None:
    """Write the variant's task.toml, with its id, title, rules and measurements."""
    document = tomlkit.parse((target / "task.toml").read_text(encoding="utf-8"))
    measured = document.pop("renamed").get("measured")
    document.pop("measured", None)
    document["id"] = target.name
    document["title"] = rename_text(task.spec.title, renaming, phrases)
    rules = {rename_text(rule, renaming, phrases): held for rule, held in task.spec.rules.items()}
    document["rules"] = rules
    if "rebuild" in document:
        document["rebuild"]["fresh"] = rename_text(task.spec.rebuild.fresh, renaming, phrases)
    if measured:
        document["measured"] = measured
    head = f"variant_of = {tomlkit.item(task.address).as_string()}\n"
    (target / "task.toml").write_text(head + tomlkit.dumps(document), encoding="utf-8")
