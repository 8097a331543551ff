"""What a piece of code calls, with which strings, and which attributes it replaces.

Python is parsed, so comments and strings that are not arguments do not matter. Other code, such as
a shell script or a part of a program, is searched by patterns, without its comments.
"""

import ast
import re
import textwrap
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

LONGEST_CODE = 200_000
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")
_QUOTED = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'", re.DOTALL
)
_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\((?=\s*(?:\[([^\]\n]{0,300})\]|([^()\n]{0,300})))")
_REPLACED = re.compile(r"(?:^|;)[ \t]*([A-Za-z_]\w*(?:\.\w+)+)[ \t]*=(?!=)", re.MULTILINE)
_SET = re.compile(r"\bsetattr\(\s*([A-Za-z_][\w.]*)\s*,\s*['\"](\w+)['\"]")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", re.MULTILINE)
_FLAG = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*True\b")
_OPERATORS = (*ast.expr_context.__subclasses__(), *ast.operator.__subclasses__())
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, *_OPERATORS})
_SETTERS = ("setattr", "object")
_PATH_TYPES = ("Path", "PurePath", "pathlib.Path", "pathlib.PurePath")


@dataclass(frozen=True)
class Call:
    """A call by its dotted name, with the strings among its arguments, from left to right."""

    name: str
    texts: tuple[str, ...] = ()
    full: str = ""
    """The name, prefixed with the module that it was imported from."""
    flags: tuple[str, ...] = ()
    """The arguments that are set to True."""

    @property
    def last(self) -> str:
        """The function's own name."""
        return self.name.rpartition(".")[2]


@dataclass
class CodeFacts:
    """The facts about a piece of code."""

    calls: list[Call] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """Strings that are passed to a call, joined to a path or assigned to a name."""
    replaced: list[str] = field(default_factory=list)
    """Attributes that are assigned in any way, with the full name of their module."""
    imports: list[str] = field(default_factory=list)
    plain: str = ""
    """The code without comments, for pattern searches."""


@dataclass
class NameTable:
    """What the names in a piece of code refer to."""

    modules: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    """For names that are assigned a `Path(...)`."""

    def full(self, dotted: str) -> str:
        head, point, rest = dotted.partition(".")
        return f"{self.modules.get(head, head)}{point}{rest}"

    def learn(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                self.modules |= {one.asname: one.name for one in names if one.asname}
            case ast.ImportFrom(module=str(module), names=names):
                self.modules |= {one.asname or one.name: f"{module}.{one.name}" for one in names}
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text = self.text(value)
                if text:
                    self.texts[name] = text
                elif path := self.path(value):
                    self.paths[name] = path

    def text(self, node: ast.expr) -> str:
        """The known part of a string: constants, f-strings, sums, and names of those."""
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.Name(id=name):
                return self.texts.get(name, "")
            case ast.JoinedStr(values=values):
                return "".join(
                    self.text(part) if isinstance(part, ast.Constant) else "*" for part in values
                )
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.text(left) + self.text(right)
        return ""

    def path(self, node: ast.expr) -> str:
        """The known part of a path that is built by `Path(...)` and `/`."""
        match node:
            case ast.Name(id=name):
                return self.paths.get(name, "")
            case ast.Call(func=function, args=[first, *_]) if _dotted(function) in _PATH_TYPES:
                return self.text(first) or self.path(first)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="Path"), attr="home")):
                return "~"
            case ast.Call(func=ast.Attribute(value=value, attr="resolve" | "absolute")):
                return self.path(value)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                part = self.text(right)
                return f"{self.path(left) or self.text(left) or '*'}/{part}" if part else ""
        return ""


@lru_cache(maxsize=256)
def python_facts(code: str) -> CodeFacts:
    """The facts about Python code; found by patterns if it does not parse.

    Agents write the same program again and again, so recent results are cached.
    """
    code = code[:LONGEST_CODE]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(textwrap.dedent(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return pattern_facts(code)
    facts, names = CodeFacts(plain=without_comments(code)), NameTable()
    try:
        nodes = list(_branches(tree))
        for node in nodes:
            names.learn(node)
        for node in nodes:
            _add(node, names, facts)
    except RecursionError:
        return pattern_facts(code)
    return facts


def _branches(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that has children, outer nodes first."""
    left = deque([tree])
    while left:
        node = left.popleft()
        yield node
        left.extend(child for child in ast.iter_child_nodes(node) if type(child) not in _LEAVES)


def _add(node: ast.AST, names: NameTable, facts: CodeFacts) -> None:
    match node:
        case ast.Call():
            _add_call(node, names, facts)
        case ast.Assign(targets=targets, value=value):
            facts.replaced += [one for target in targets for one in _replaced(target, names)]
            facts.paths += [text for text in [names.text(value)] if text]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            facts.replaced += _replaced(target, names)
        case ast.Import(names=imported):
            facts.imports += [one.name for one in imported]
        case ast.ImportFrom(module=str(module)):
            facts.imports.append(module)
        case ast.BinOp(op=ast.Div()):
            facts.paths += [path for path in [names.path(node)] if path]


def _add_call(node: ast.Call, names: NameTable, facts: CodeFacts) -> None:
    name = _dotted(node.func)
    texts = tuple(_texts(node, names))
    if isinstance(node.func, ast.Attribute):
        before = names.path(node.func.value)
        if before:
            name, texts = f"Path.().{node.func.attr}", (before, *texts)
    flags = tuple(
        one.arg
        for one in node.keywords
        if one.arg and isinstance(one.value, ast.Constant) and one.value.value is True
    )
    call = Call(name, texts, names.full(name), flags)
    facts.calls.append(call)
    facts.paths += texts
    match node.args:
        case [owner, ast.Constant(value=str(attribute)), *_] if call.last in _SETTERS:
            facts.replaced.append(names.full(f"{_dotted(owner)}.{attribute}"))
        case [ast.Constant(value=str(attribute)), *_] if call.last in ("patch", "setattr"):
            facts.replaced.append(attribute)


def _replaced(target: ast.expr, names: NameTable) -> Iterator[str]:
    """The attributes that an assignment changes, also through a module's dictionary."""
    match target:
        case ast.Attribute():
            yield names.full(_dotted(target))
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            match owner:
                case ast.Attribute(value=module, attr="__dict__"):
                    yield names.full(f"{_dotted(module)}.{key}")
                case ast.Call(func=ast.Name(id="vars"), args=[module]):
                    yield names.full(f"{_dotted(module)}.{key}")
                case ast.Attribute(value=ast.Name(), attr="modules"):
                    yield names.full(f"{_dotted(owner)}.{key}")
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _replaced(part, names)


def _texts(node: ast.Call, names: NameTable) -> Iterator[str]:
    """The strings among a call's arguments, also in lists, f-strings, sums and by name."""
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        parts = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
        for part in parts:
            text = names.text(part) or names.path(part)
            if text:
                yield text


def _dotted(node: ast.expr) -> str:
    """`a.b.c` for an attribute, with `()` in place of a call."""
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


@lru_cache(maxsize=256)
def pattern_facts(code: str) -> CodeFacts:
    """The facts about any other code, such as a shell script."""
    plain = without_comments(code[:LONGEST_CODE])
    calls = [
        Call(
            found[1],
            tuple(_quoted(found[2] or found[3] or "")),
            found[1],
            tuple(_FLAG.findall(found[3] or "")),
        )
        for found in _CALL.finditer(plain)
    ]
    return CodeFacts(
        calls=calls,
        paths=_quoted(plain),
        replaced=[
            *assigned_attributes(plain),
            *(f"{found[1]}.{found[2]}" for found in _SET.finditer(plain)),
        ],
        imports=_IMPORT.findall(plain),
        plain=plain,
    )


def assigned_attributes(code: str) -> list[str]:
    """Dotted names at the start of a line that are assigned to."""
    return _REPLACED.findall(code)


def _quoted(code: str) -> list[str]:
    texts = (found[1] or found[2] for found in _QUOTED.finditer(code))
    return [text for text in texts if text]


def without_comments(code: str) -> str:
    """Code without comments; a `#` inside a string may remove the rest of its line."""
    return _COMMENT.sub("", code)
