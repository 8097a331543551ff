"""Faults that are whole steps: each is a block of turns that is put in at one place.

What a block writes has a name of its own, so that no other step can use it.
"""

import difflib
import random
from collections.abc import Callable
from typing import Any

from drafts import Draft, Turn
from speech import new_turn, offers, unreadable_entries

from mlagentbench.errors import ActionFault
from mlagentbench.records import Action, Observation, ObservationStatus
from mlagentbench.runs.journal import ReplyFault

Block = list[Turn]
Fault = Callable[["Planter", int], Block]
LAST = -1
"""The gap before the final answer."""
WORDS = (
    "I try this now.", "One thing at a time.", "Let me check.", "Next.", "This is quick.",
    "I want to be sure.", "That comes next.", "I look at it once.",
)  # fmt: skip
TOPICS = (
    "stacking", "folds", "probe", "encoder", "outliers", "embedding", "blender", "smoothing",
    "augment", "pruning", "residuals", "histogram", "interactions", "calibrator", "bagging",
)  # fmt: skip


class Planter:
    """A draft, a source of chance, the pools of its half, and names that nobody else uses."""

    def __init__(
        self, draft: Draft, rng: random.Random, pool: Callable[[tuple[Any, ...]], list[Any]]
    ) -> None:
        self.draft = draft
        self.rng = rng
        self.pool = pool
        self.before: Turn | None = None
        """The turn before the place where something is put in."""
        self._used = 0

    def pick(self, items: tuple[Any, ...]) -> object:
        return self.rng.choice(self.pool(items))

    def script(self, suffix: str = ".py") -> str:
        self._used += 1
        return f"{self.rng.choice(TOPICS)}_{self.rng.randrange(100, 1000)}{self._used}{suffix}"

    @property
    def words(self) -> str:
        return self.rng.choice(WORDS)

    def turn(
        self, name: str, arguments: dict[str, Any], observation: Observation, **more: Any
    ) -> Turn:
        action = Action(name=name, arguments=arguments)
        words = str(more.pop("words", self.words))
        return new_turn(self.draft, action, observation, words, after=self.before, **more)

    def write(self, name: str, code: str, before: str = "", words: str | None = None) -> Turn:
        """A script written, by whatever action this agent has for it."""
        more: dict[str, Any] = {} if words is None else {"words": words}
        more |= {"edited": name, "written": f"{name}\n{code}"}
        if offers(self.draft, "Write File"):
            size = f"{len(code.splitlines()):,} lines, {len(code):,} characters"
            seen = Observation(text=f"{name} was written: {size}")
            return self.turn("Write File", {"file_name": name, "content": code}, seen, **more)
        diff = difflib.unified_diff(
            before.splitlines(keepends=True), code.splitlines(keepends=True), name, name
        )
        said = f"{name} was edited:" if before else f"{name} is new:"
        seen = Observation(text=f"{said}\n\n{''.join(diff)}")
        asked = {"script_name": name, "edit_instruction": f"Write the script {name} as planned."}
        more |= {"edit_reply": f"```python\n{code}```"}
        return self.turn("Edit Script (AI)", asked, seen, **more)

    def execute(self, name: str, text: str, status: ObservationStatus = "ok", **more: Any) -> Turn:
        limit = more.pop("limit", None)
        code = {"ok": 0, "error": 1}.get(status)
        seen = Observation(text=text, status=status, exit_code=code, limit=limit)
        arguments = {"script_name": name, **more.pop("arguments", {})}
        return self.turn("Execute Script", arguments, seen, **more)


def _trace(name: str, rng: random.Random) -> str:
    line = rng.randrange(3, 60)
    error = rng.choice(
        (
            "NameError: name 'np' is not defined",
            "KeyError: 'Cabin'",
            "ValueError: Input X contains NaN.",
            "ModuleNotFoundError: No module named 'xgboost'",
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
            "IndexError: list index out of range",
            "AssertionError",
        )
    )
    where = f'  File "/workspace/{name}", line {line}, in <module>\n    main()'
    said = f"Traceback (most recent call last):\n{where}\n{error}"
    return f"{said}\n[The script failed with exit code 1.]"


_LIMITS = (
    ("wall time", "ended by the limit on wall time (3600 s)", "time"),
    ("memory", "ended by the limit on memory (8.0 GB)", "memory"),
    ("processes", "ended by the limit on processes (512)", "limit"),
    ("file size", "ended by the limit on file size (4.0 GB)", "limit"),
)


def _crashing(planter: Planter, name: str) -> Turn:
    """A crash of the script, in one of its forms, with its label."""
    if planter.rng.random() < 0.7:
        turn = planter.execute(name, _trace(name, planter.rng), "error")
        form = "exit"
    else:
        limit, said, form = planter.rng.choice(_LIMITS)
        turn = planter.execute(name, f"\n[The script was {said}.]", "limit", limit=limit)
    planter.draft.mark("crash", turn, form=form)
    return turn


def _code(planter: Planter) -> str:
    number = planter.rng.randrange(1000)
    read = 'import pandas as pd\n\nd = pd.read_csv("train.csv")'
    return f'"""Try {number}."""\n{read}\nprint(len(d) + {number})\n'


def crash(planter: Planter, _gap: int) -> Block:
    """A crash that is mended: the script is changed and then runs well. Or one of the REPL."""
    if offers(planter.draft, "Python REPL") and planter.rng.random() < 0.3:
        text = (
            "Traceback (most recent call last):\n  File \"<repl 3>\", line 1\nNameError: name 'q'"
        )
        seen = Observation(text=text, status="error")
        turn = planter.turn("Python REPL", {"command": f"print(q{planter.rng.random()})"}, seen)
        planter.draft.mark("crash", turn, form="exit")
        return [turn]
    name, first = planter.script(), _code(planter)
    block = [planter.write(name, first), _crashing(planter, name)]
    block.append(planter.write(name, _code(planter), first))
    block.append(planter.execute(name, f"{planter.rng.randrange(500, 3000)}"))
    return block


def failed_debugging(planter: Planter, _gap: int) -> Block:
    """A script that crashes three times or more, whatever is changed, and is then left."""
    name, code = planter.script(), _code(planter)
    block: Block = []
    crashes: list[Turn] = []
    for _ in range(planter.rng.choice((3, 3, 4, 5))):
        newer = _code(planter)
        block.append(planter.write(name, newer, code if block else ""))
        crashes.append(_crashing(planter, name))
        block.append(crashes[-1])
        if planter.rng.random() < 0.3:
            block.append(_look(planter))
        code = newer
    planter.draft.mark("failed-debugging", *crashes)
    return block


def given_up(planter: Planter, _gap: int) -> Block:
    """The last execution of the run crashes, once or twice, and nothing is tried again."""
    name, first = planter.script(), _code(planter)
    block = [planter.write(name, first), _crashing(planter, name)]
    crashes = [block[1]]
    if planter.rng.random() < 0.5:
        block += [planter.write(name, _code(planter), first), _crashing(planter, name)]
        crashes.append(block[3])
    planter.draft.mark("failed-debugging", *crashes)
    return block


def _look(planter: Planter) -> Turn:
    """A harmless step that is never the same twice."""
    folder = f"part_{planter.rng.randrange(10**6)}"
    return planter.turn("List Files", {"dir_path": folder}, Observation(text=f"{folder} is empty"))


def loop(planter: Planter, _gap: int) -> Block:
    """The same step three to six times on one workspace, with or without others between."""
    rng = planter.rng
    times = rng.choice((3, 3, 4, 6))
    kind = rng.choice(("list", "inspect", "execute", "error"))
    between = rng.random() < 0.5
    repeated, block = [], []
    if kind == "execute":
        name = planter.script()
        block.append(planter.write(name, _code(planter)))
    for _ in range(times):
        turn = _repeated(planter, kind, block)
        repeated.append(turn)
        block.append(turn)
        if kind == "error":
            planter.draft.mark("tool-error", turn)
        if between and len(repeated) < times:
            block.append(_look(planter))
    planter.draft.mark("loop", *repeated)
    return block


def _repeated(planter: Planter, kind: str, block: Block) -> Turn:
    rng = planter.rng
    if kind == "list":
        return planter.turn(
            "List Files", {"dir_path": "."}, Observation(text="train.py  2,000 bytes")
        )
    if kind == "inspect":
        asked = {"script_name": "train.py", "start_line_number": 1, "end_line_number": 3}
        text = 'train.py, lines 1 to 3 of 65\n    1 """Start."""\n    2 \n    3 import os'
        return planter.turn("Inspect Script Lines", asked, Observation(text=text))
    if kind == "error":
        asked = {"script_name": "modelling.py", "start_line_number": 1, "end_line_number": 9}
        seen = Observation(text="modelling.py does not exist", status="error")
        return planter.turn("Inspect Script Lines", asked, seen)
    name = str(block[0].end.edited)
    text = f"rows 1050\ntook {rng.uniform(1, 4):.2f} seconds"
    return planter.execute(name, text)


def edit_never_run(planter: Planter, gap: int) -> Block:
    """A program that nothing ever runs, or that is overwritten before anything does.

    What runs afterwards is another script, whose text is known and names no other.
    """
    name, code = planter.script(planter.rng.choice((".py", ".py", ".sh"))), _code(planter)
    block = [planter.write(name, code)]
    planter.draft.mark("edit-never-run", block[0])
    if planter.rng.random() < 0.3:
        return [*block, planter.write(name, _code(planter), code), planter.execute(name, "1050")]
    if gap == LAST and planter.rng.random() < 0.5:
        return block
    other = planter.script()
    return [*block, planter.write(other, _code(planter)), planter.execute(other, "1050")]


def replaced(planter: Planter, _gap: int) -> Block:
    """A crash, but no failed debugging: another script does it, and runs well."""
    name, other = planter.script(), planter.script()
    return [
        planter.write(name, _code(planter)),
        _crashing(planter, name),
        planter.write(other, _code(planter)),
        planter.execute(other, "1050"),
    ]


def edit_used(planter: Planter, _gap: int) -> Block:
    """No fault: a module that another script imports, and that script runs."""
    name, other = planter.script(), planter.script()
    user = f"from {name.removesuffix('.py')} import d\n\nprint(d.shape)\n"
    return [
        planter.write(name, _code(planter)),
        planter.write(other, user),
        planter.execute(other, "(1050, 81)"),
    ]


def run_again(planter: Planter, _gap: int) -> Block:
    """No fault: a script that is run after each of three edits, with the same output."""
    name, code = planter.script(), ""
    block = []
    for _ in range(3):
        newer = _code(planter)
        block += [planter.write(name, newer, code), planter.execute(name, "1050")]
        code = newer
    return block


_MISSING = ("network.py", "data/train.csv", "notes.md", "src/main.py", "config.yaml", "utils.py")


def tool_error(planter: Planter, _gap: int) -> Block:
    rng, draft = planter.rng, planter.draft
    name = rng.choice(_MISSING)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("Inspect Script Lines", {"script_name": name, "start_line_number": 1,
          "end_line_number": 50}, f"{name} does not exist"),
        ("Inspect Script Lines", {"script_name": "train.py", "start_line_number": 900,
          "end_line_number": 950}, "train.py has only 65 lines"),
        ("Inspect Script Lines", {"script_name": "train.py", "start_line_number": 1,
          "end_line_number": 400}, "at most 100 lines can be shown at once"),
        ("Copy File", {"source": name, "destination": "copy.py"},
         f"cannot stat '{name}': No such file or directory"),
        ("List Files", {"dir_path": "checkpoints"}, "checkpoints does not exist"),
        ("Undo Edit Script", {"script_name": name}, f"there is no change of {name} to take back"),
        ("Read File", {"file_name": name}, f"{name} does not exist"),
        ("Read File", {"file_name": "weights.npy"},
         "weights.npy is a binary file of 40,128 bytes, not a text"),
        ("Replace in File", {"file_name": "train.py", "old": "lr = 0.1", "new": "lr = 0.2"},
         "train.py was not changed: the text to replace stands there 0 times instead of once"),
        ("Understand File", {"file_name": name, "things_to_look_for": "The columns."},
         f"{name} does not exist"),
        ("Edit Script (AI)", {"script_name": "train.py", "edit_instruction": "Use a GPU."},
         "The edit model's answer is of no use, no file was changed: the answer has no code block"),
    ]  # fmt: skip
    action, arguments, text = rng.choice([case for case in cases if offers(draft, case[0])])
    turn = planter.turn(action, arguments, Observation(text=text, status="error"))
    draft.mark("tool-error", turn)
    return [turn]


_WRONG_ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"file": "train.py"},
    {"script_name": 3, "x": 1},
]


def invalid_action(planter: Planter, _gap: int) -> Block:
    rng, draft = planter.rng, planter.draft
    if rng.random() < 0.5:
        name = rng.choice(
            ("Run Script", "Open File", "Search Web", "Install Package", "Train Model", "bash",
             "Delete File", "Submit", "Think", "Execute", "execute_python_code")
        )  # fmt: skip
        known = ", ".join(draft.run_line.actions)
        fault: ActionFault = "unknown action"
        text = f"There is no action {name!r}. Actions: {known}"
        arguments: dict[str, Any] = {"input": "train.py"}
    else:
        name = rng.choice(("Execute Script", "Inspect Script Lines", "Copy File"))
        fault = "bad arguments"
        arguments = rng.choice(_WRONG_ARGUMENTS)
        text = f"{name}: the argument script_name is missing\nUsage: {{...}}"
    seen = Observation(text=text, status="error", fault=fault)
    turn = planter.turn(name, arguments, seen)
    draft.mark("invalid-action", turn, form=fault)
    return [turn]


_GARBAGE = (
    ("", "empty", "the reply is empty"),
    (
        "I think the next thing would be to look at the data.",
        "fields",
        "the field Action is missing",
    ),
    ("Thought: look\nAction Input: {}", "fields", "the field Action is missing"),
    ("Reflection: ok\nAction:\nAction Input: {}", "action", "the field Action names no action"),
    ("Thought: x\nAction: List Files\nAction Input: the workspace", "json", "no JSON object"),
    ('Thought: x\nAction: Execute Script\nAction Input: {"script_name": ', "cut off", "cut off"),
    ("Sure! Here is what I would do:\n1. read\n2. run", "fields", "the field Thought is missing"),
)


_TOOL_CALL_FORMS: tuple[ReplyFault, ...] = ("no tool call", "json")


def unreadable(planter: Planter, _gap: int) -> Block:
    """One to three replies before a harmless step, or so many that they cost a step."""
    rng, draft = planter.rng, planter.draft
    if draft.agent == "react":
        lost, pool = 3, None
    else:
        lost, pool = 6, planter.pool(_GARBAGE)
    count = lost if rng.random() < 0.2 else rng.randrange(1, 4)
    turn = _unusable(planter, lost) if count == lost else _look(planter)
    entries = []
    for _ in range(count):
        if pool is None:
            form = rng.choice(_TOOL_CALL_FORMS)
            said = rng.choice(("Let me think.", "The data looks fine.", "Done?", "I would run it."))
            entries += unreadable_entries(said, form, "call a tool")
        else:
            text, form, detail = rng.choice(pool)
            more = {"stop_reason": "max_tokens"} if form == "cut off" else {}
            entries += unreadable_entries(text, form, detail, **more)
        draft.mark("unreadable-reply", turn, form=form)
    turn.entries[:0] = entries
    return [turn]


def _unusable(planter: Planter, lost: int) -> Turn:
    seen = Observation(
        text=f"Nothing was done: {lost} replies in a row could not be read.", status="error"
    )
    turn = planter.turn("Unusable Reply", {}, seen)
    reply = turn.reply
    turn.entries = [entry for entry in turn.entries if entry is not reply]
    return turn


def bad_submission(planter: Planter, _gap: int) -> Block:
    """Validate Submission says no."""
    path, reason, form = planter.rng.choice(
        (
            ("submission.csv", "submission.csv not found", "missing"),
            ("submission.csv", "row ids differ: 3 missing, first: 1461", "rows"),
            ("submission.csv", "row ids differ: 12 unknown, first: 9", "rows"),
            ("submission.csv", "row ids repeat: 1 too many, first: 77", "rows"),
            (
                "submission.csv",
                "columns are ['Id', 'price'], expected ['Id', 'SalePrice']",
                "columns",
            ),
            ("submission.csv", "the column Transported is missing", "columns"),
            ("submission.csv", "SalePrice, row 4: 'nan' is not finite", "values"),
            ("submission.csv", "sentiment, row 0: 'pos' is neither 0 nor 1", "values"),
        )
    )
    seen = Observation(text=f"{path} is not a valid submission: {reason}", status="error")
    turn = planter.turn("Validate Submission", {}, seen)
    planter.draft.mark("submission-format", turn, form=form)
    return [turn]


def good_submission(planter: Planter, _gap: int) -> Block:
    """No fault."""
    seen = Observation(text="submission.csv is a valid submission.")
    return [planter.turn("Validate Submission", {}, seen)]
