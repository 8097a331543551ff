"""Everything a person reads is plain English: phrases that were replaced do not come back.

Python files are read by their strings and comments, so a variable `words` in `for word in words` is
not prose. Names of variables, functions and classes have a short list of their own.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mlagentbench"

PHRASES = {
    r"rows? to measure others by": "reference agent",
    r"why to trust": "why you can trust",
    r"cores do(?! \w)": "cores are enough",
    r"half of the way": "halfway",
    r"(?:what|whatever) infrastructure stopped": "runs lost to infrastructure failures",
    r"(?:try|tries|tried) at the answers": "attempts to access the hidden answers",
    r"lets? (?:a |the )?runs? go": "resume",
    r"broken off": "interrupted",
    r"what tasks there are": "list and inspect tasks",
    r"files (?:that )?you have(?! \w+ed)": "data you downloaded yourself",
    r"ask a failing provider again": "retries per model call",
    r"into task\.toml, not": "write to task.toml instead of",
    r"another one's": "name the other thing",
    r"what runs rely on": "the required isolation",
    r"how manieth": "index",
    r"known whole": "complete",
    r"mend(?:s|ed|ing)?": "fix",
    r"none of ours": "not built-in",
    r"through the same door": "through the same interface",
    r"ow(?:es|ed|ing) to memory": "memorisation",
    r"not only meant": "tested",
    r"how sure they are": "uncertainty",
    r"go(?:es|ing|ne)? on|went on": "resume, continue",
    r"(?<!other )(?<!by )hand(?:s|ed|ing)?(?: (?:it|its|them|this|that|one|something|what))? in": (
        "submit, pass"
    ),
    r"made[- ]up(?! of)": "fabricated",
    r"of ours": "built-in",
    r"in words": "description",
    r"whoever": "passive voice",
    r"nobody(?![:\\])": "passive voice",
    r"lives? inside": "in-sandbox",
    r"(?<!^)(?<!\n)type:(?! ignore)(?= |$)|type the same": "run:",
    r"sittings?": "timing round",
    r"rulers?": "reference agents",
    r"boards?(?! that actors)": "leaderboard",
    r"figures?(?! \d)": "measurements (of a task), statistics (of runs)",
}
"""What is not written, as a pattern between word boundaries; and what is written instead."""

NAME_PARTS = {"figures", "board", "boards", "ruler", "rulers", "sitting", "sittings", "mend"}
"""Words that no name in the code is made from."""

OTHER_SENSES = {
    "report/exports/plots.py": {"figure"},  # a drawing of matplotlib's
    "report/exports/paper/paper_plots.py": {"figure"},
    "analysis/detectors/parsing/claim_words.py": {"nobody"},  # a word of agents, to be found
    "analysis/detectors/fabrication.py": {"nobody"},
    "grading/timed_grading.py": {"sittings"},  # the name of a field that graders of tasks read
}
"""Words that are right in one file, because they mean something else there."""

RECORDED_TEXTS = (
    "Nobody answered. Go on with what you know.",
    "nobody can be asked in this run",
    "What was done and found, with figures.",
    "The session goes on.",
    "(the session goes on)",
)
"""What agents are told by actions: recordings were made with these words."""

HASHED_OR_RECORDED = (
    PACKAGE / "tasks" / "suite",  # its contents are part of the hashes of data sets
    PACKAGE / "guest" / "mlagentbench_task.py",
    PACKAGE / "guest" / "mlagentbench_papers.py",
    PACKAGE / "prompts",  # what models are told is matched against recordings
    PACKAGE / "analysis" / "judge" / "rubric.py",  # so is what judges are asked
    PACKAGE / "recordings",
)
"""What cannot be reworded without new data sets or new recordings."""


def written_files() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    yield from (ROOT / "docs").rglob("*.md")
    yield from (ROOT / "bench").glob("*.py")
    yield from (ROOT / "bench").rglob("*.md")
    for path in PACKAGE.rglob("*"):
        if path.suffix in {".py", ".html", ".md", ".toml"} and not any(
            path.is_relative_to(place) for place in HASHED_OR_RECORDED
        ):
            yield path


FILES = sorted(written_files())
STRING_PARTS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
BETWEEN_STRINGS = {
    tokenize.NL,
    *(getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END")),
}


def unquoted(literal: str) -> str:
    return re.sub(r"^[A-Za-z]{0,2}(\"\"\"|'''|\"|')(.*)\1$", r"\2", literal, flags=re.DOTALL)


def prose_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Each string with those that follow it directly, and each block of comments, with its line."""
    first_line, text, kind = 0, "", ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in STRING_PARTS:
            found, part = "string", unquoted(token.string)
        elif token.type == tokenize.COMMENT:
            found, part = "comment", token.string.lstrip("#") + "\n"
        elif token.type in BETWEEN_STRINGS:
            continue
        else:
            found, part = "", ""
        if found != kind:
            if kind:
                yield first_line, text
            first_line, text, kind = token.start[0], "", found
        text += part


CODE_IN_HTML = re.compile(
    r"{{.*?}}|{%.*?%}|</?figure\b|class=\"[^\"]*\"|<style>.*?</style>", re.DOTALL
)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from prose_of_python(text)
    elif path.suffix == ".html":
        yield 1, CODE_IN_HTML.sub(lambda code: "\n" * code.group().count("\n"), text)
    else:
        yield 1, text


def as_pattern(phrase: str) -> re.Pattern[str]:
    """The phrase between word boundaries, also where a line ends within it."""
    across_lines = re.sub(r" (?!\))", r"\\s+", phrase)  # a look-behind has a fixed width
    return re.compile(rf"(?<!\w)(?:{across_lines})(?!\w)", re.IGNORECASE)


PATTERNS = {phrase: as_pattern(phrase) for phrase in PHRASES}


def stale_phrases(line: int, text: str) -> Iterator[tuple[int, str, str]]:
    """Line, what is written there, and what should be."""
    if text.isidentifier():  # a key, or a type in quotes, is no prose
        return
    for recorded in RECORDED_TEXTS:
        text = text.replace(recorded, "")
    for phrase, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            found = " ".join(match.group().lower().split())
            yield line + text.count("\n", 0, match.start()), found, PHRASES[phrase]


def stale_names(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, the word that a name is made from, and the name."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", token.string)
            for part in NAME_PARTS & {part.lower() for part in parts}:
                yield token.start[0], part, token.string


def is_right_there(path: Path, word: str) -> bool:
    if not path.is_relative_to(PACKAGE):
        return False
    return word in OTHER_SENSES.get(str(path.relative_to(PACKAGE)), ())


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_stale_phrase_is_left(path: Path) -> None:
    found = [
        f"{name(path)}:{line}: {phrase!r}; instead: {better}"
        for first_line, text in prose(path)
        for line, phrase, better in stale_phrases(first_line, text)
        if not is_right_there(path, phrase)
    ]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".py"], ids=name)
def test_no_name_is_made_from_a_stale_word(path: Path) -> None:
    found = [
        f"{name(path)}:{line}: the name {whole} is made from {word!r}"
        for line, word, whole in stale_names(path.read_text(encoding="utf-8"))
        if not is_right_there(path, word)
    ]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    "text",
    [
        "Let runs go on: broken off, or only not graded.",
        "the run goes\non where it stopped",
        "2 cores do.",
        "the best is handed in",
        "it hands it in",
        "a made-up observation",
        "an agent of ours",
        "its value in words.",
        "Whoever answers",
        "not installed; type: pip install x",
        "the agent lives inside the sandbox",
        "measured figures",
    ],
)
def test_stale_phrases_are_found(text: str) -> None:
    assert list(stale_phrases(1, text))


@pytest.mark.parametrize(
    "text",
    [
        "labelled by hand in one pass",
        "on the other hand in every run",
        "a list made up of pairs",
        "leaderboards",
        "figure 2 of the paper",
        "x = f()  # type: ignore[arg-type]",
        "Figure",
        "nobody:x:65534:65534",
        "what to recommend, amend and go once",
    ],
)
def test_ordinary_english_is_left_alone(text: str) -> None:
    assert not list(stale_phrases(1, text))


def test_python_is_read_by_its_strings_and_comments() -> None:
    source = """
for word in words:
    say("they go "
        f"on with {word}")  # nothing else
figures_of = 1
"""
    texts = [text for _, text in prose_of_python(source)]
    assert any("they go on with" in text for text in texts)
    assert not any("in words" in text for text in texts)
    assert len(list(stale_names(source))) == 1
