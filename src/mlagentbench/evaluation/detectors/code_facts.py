"""What a piece of code calls, which texts it hands over, and what it replaces.

Python is parsed, so that comments and texts that are no arguments do not matter. What is no Python,
as a shell script or a part of a program, is read by patterns, without its comments.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST_CODE = 200_000
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")
_QUOTED = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'", re.DOTALL
)
_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\((?=\s*(?:\[([^\]\n]{0,300})\]|([^()\n]{0,300})))")
_REPLACED = re.compile(r"^[ \t]*([A-Za-z_]\w*(?:\.\w+)+)[ \t]*=(?!=)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """A call by its dotted name, with the texts among its arguments, from left to right."""

    name: str
    texts: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The function's own name."""
        return self.name.rpartition(".")[2]


@dataclass
class CodeFacts:
    """What there is to know of a piece of code."""

    calls: list[Call] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """Texts that are handed to a call or joined as a path."""
    replaced: list[str] = field(default_factory=list)
    """Attributes of modules that are assigned to."""
    imports: list[str] = field(default_factory=list)
    plain: str = ""
    """The code without comments, for what only patterns can find."""


def python_facts(code: str) -> CodeFacts:
    """The facts of Python code; of code that does not parse, as far as patterns tell."""
    code = code[:LONGEST_CODE]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(textwrap.dedent(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return pattern_facts(code)
    facts = CodeFacts(plain=without_comments(code))
    try:
        for node in ast.walk(tree):
            _add(node, facts)
    except RecursionError:
        return pattern_facts(code)
    return facts


def _add(node: ast.AST, facts: CodeFacts) -> None:
    match node:
        case ast.Call():
            texts = (*_path_before(node.func), *_texts(node))
            facts.calls.append(Call(_dotted(node.func), texts))
            facts.paths += texts
        case ast.Assign(targets=targets):
            facts.replaced += [_dotted(one) for one in targets if isinstance(one, ast.Attribute)]
        case ast.Import(names=names):
            facts.imports += [name.name for name in names]
        case ast.ImportFrom(module=str(module)):
            facts.imports.append(module)
        case ast.BinOp(op=ast.Div(), right=ast.Constant(value=str(value))):
            facts.paths.append(value)


def _path_before(function: ast.expr) -> Iterator[str]:
    """The path that a method is called on: "a" in `Path("a").read_text()`."""
    match function:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="Path"), args=[first, *_])):
            text = _text(first)
            if text:
                yield text


def _texts(node: ast.Call) -> Iterator[str]:
    """The texts that a call is given, also in lists, f-strings and sums."""
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        parts = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
        for part in parts:
            text = _text(part)
            if text:
                yield text


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(
                one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else "*"
                for one in values
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
    return ""


def _dotted(node: ast.expr) -> str:
    """`a.b.c` for an attribute, with `()` in the place of a call on the way."""
    parts: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=attr):
                parts.append(attr)
                node = value
            case ast.Name(id=name):
                return ".".join([name, *reversed(parts)])
            case ast.Call(func=func):
                parts.append("()")
                node = func
            case _:
                return ".".join(reversed(parts))


def pattern_facts(code: str) -> CodeFacts:
    """The facts of anything else, as a shell script."""
    plain = without_comments(code[:LONGEST_CODE])
    return CodeFacts(
        calls=[
            Call(found[1], tuple(_quoted(found[2] or found[3] or "")))
            for found in _CALL.finditer(plain)
        ],
        paths=_quoted(plain),
        replaced=assigned_attributes(plain),
        imports=_IMPORT.findall(plain),
        plain=plain,
    )


def assigned_attributes(code: str) -> list[str]:
    """What stands before a `=` at the start of a line and has a point in it."""
    return _REPLACED.findall(code)


def _quoted(code: str) -> list[str]:
    texts = (found[1] or found[2] for found in _QUOTED.finditer(code))
    return [text for text in texts if text]


def without_comments(code: str) -> str:
    """Code without what follows a `#`; a `#` in a text may take the rest of its line along."""
    return _COMMENT.sub("", code)
