"""An action is a typed async function; its signature and docstring define all of it.

    @action("Read File")
    async def read_file(at: ActionContext, file_name: str, start_line_number: int = 1) -> str:
        '''Show a text file.

        Args:
            file_name: Path of the file, relative to the workspace.
            start_line_number: First line to show.
        '''

The signature is the schema and the validation, the docstring is the prompt and the help in errors.
The function returns its observation, or only its text on success, and raises ActionError for the
agent's mistakes.
"""

import difflib
import errno
import inspect
import json
import math
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from mlagentbench.environment.budget import Budget
from mlagentbench.environment.workspace import Workspace
from mlagentbench.errors import ActionError, ContextOverflow, ModelRefused, RunEnded
from mlagentbench.inspect_private import sample_end
from mlagentbench.records import Action, Json, Observation, Step
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.sandbox.base import Sandbox
from mlagentbench.tasks.task import Task
from mlagentbench.untrusted_text import is_unicode

if TYPE_CHECKING:
    from inspect_ai.tool import Tool, ToolParams

    from mlagentbench.environment.actions.repl import Repl
    from mlagentbench.environment.actions.submission import SubmissionCheck
    from mlagentbench.environment.ask_models import Models
    from mlagentbench.environment.environment import Environment

AskPerson = Callable[[str], Awaitable[str]]
"""Shows a person a question and waits for the answer; "" if there is none."""

MAX_TEXT = 50_000_000
"""Bytes of the largest file that file actions read."""
MAX_NAME = 200
"""Characters of an action's name."""
MAX_CHARACTERS = 5_000_000
MAX_VALUES = 10_000
MAX_DEPTH = 20
MAX_BITS = 1_000
"""Of a number: more digits are no number of anything."""
LEFT_OUT = "left out"
"""The only argument of an action whose arguments cannot be used; its value says why."""


@dataclass
class StepNotes:
    """What an action records in the journal besides its observation."""

    edited: str | None = None
    """The changed file, so that the change can be undone."""
    undone: str | None = None
    """The file whose last change was undone."""
    output: bytes | None = None
    """The complete output of a command, if the observation shows only a part."""
    restarted: bool = False
    """Whether the sandbox died and was restarted."""
    feedback: bool = False
    """Whether the agent was told a metric on held-out data."""


@dataclass
class ActionContext:
    """What an action can use."""

    task: Task
    workspace: Workspace
    sandbox: Sandbox
    budget: Budget
    snapshots: Snapshots
    repl: "Repl"
    submission: "SubmissionCheck"
    on_output: Callable[[bytes], None]
    models: "Models"
    steps: list[Step]
    """All steps before this one."""
    ask_person: AskPerson | None = None
    """Set in interactive runs."""
    undo: dict[str, list[str]] = field(default_factory=dict)
    """For each edited file, the snapshots before each edit that can be undone."""
    notes: StepNotes = field(default_factory=StepNotes)
    can_execute: bool = True
    """Whether the agent can execute anything in this run."""
    patience: float = math.inf
    """The time limit in seconds that the agent sets for a command of this step."""

    def command_time(self) -> float:
        return self.budget.command_time(min(self.task.spec.limits.command_time, self.patience))

    async def read(self, path: str) -> bytes:
        """The bytes of a file in the workspace."""
        found = self.workspace.resolve(path)
        self.require_readable_size(path, found)
        try:
            return await self.sandbox.read(found)
        except OSError as error:
            raise ActionError(file_error(path, error)) from error

    async def read_text(self, path: str) -> str:
        """The text of a file in the workspace, with replacement characters for invalid UTF-8."""
        contents = await self.read(path)
        if b"\0" in contents[:8192]:
            raise ActionError(f"{path} is a binary file of {len(contents):,} bytes, not a text")
        return contents.decode("utf-8", "replace")

    async def edit(self, path: str, text: str) -> None:
        """Write a complete text file so that Undo Edit Script can undo it."""
        found = self.workspace.resolve_for_writing(path)
        await self.write(path, found, self.encode(path, text))

    def encode(self, path: str, text: str) -> bytes:
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ActionError(f"{path}: the text is not valid Unicode: {error.reason}") from error

    def require_readable_size(self, path: str, found: str) -> None:
        """Raise ActionError when a file is too large for a text."""
        self.require_text_size(path, self.workspace.size(found))

    def require_text_size(self, path: str, size: int) -> None:
        if size > MAX_TEXT:
            hint = "; use a script" if self.can_execute else ""
            raise ActionError(
                f"{path} has {size:,} bytes, more than the {MAX_TEXT:,} of a text{hint}"
            )

    async def write(self, path: str, found: str, contents: bytes) -> None:
        """Write to a path that was resolved for writing, and record the edit."""
        try:
            await self.sandbox.write(found, contents)
        except OSError as error:
            raise ActionError(file_error(path, error)) from error
        self.notes.edited = found


def storable(action: Action) -> Action:
    """The action as it is carried out and stored: arguments that cannot be are left out."""
    name, problem = action.name[:MAX_NAME], _unusable(action.arguments)
    if problem is not None:
        return Action(name=name, arguments={LEFT_OUT: problem})
    return action if name == action.name else action.model_copy(update={"name": name})


def _unusable(arguments: Mapping[str, Json]) -> str | None:
    """Why these arguments cannot be used by any action; None if they can."""
    characters = values = 0
    level: list[Json] = [arguments]
    for _depth in range(MAX_DEPTH):
        below: list[Json] = []
        for value in level:
            values += 1
            if isinstance(value, str):
                characters += len(value)
                if not is_unicode(value):
                    return "a text is not valid Unicode"
            elif isinstance(value, int) and value.bit_length() > MAX_BITS:
                return f"a number has more than {MAX_BITS} bits"
            elif isinstance(value, Mapping):
                below += value.keys()
                below += value.values()
            elif isinstance(value, list | tuple):
                below += value
        if values + len(below) > MAX_VALUES:
            return f"there are more than {MAX_VALUES:,} values"
        if characters > MAX_CHARACTERS:
            return f"there are more than {MAX_CHARACTERS:,} characters"
        if not below:
            return None
        level = below
    return f"they are nested more than {MAX_DEPTH} levels deep"


def file_error(path: str, error: OSError) -> str:
    """What is wrong with a path, for the agent."""
    match error:
        case FileNotFoundError():
            return f"{path} does not exist"
        case IsADirectoryError():
            return f"{path} is a directory, not a file"
        case NotADirectoryError() | FileExistsError():
            return f"{path}: a part of the path is a file, not a directory"
        case OSError(errno=errno.ESPIPE):
            return f"{path} is a named pipe, not a file"
    return f"{path}: {error.strerror or error}"


class ActionFunction(Protocol):
    """The function of an action."""

    __name__: str

    def __call__(self, at: ActionContext, /, **arguments: Any) -> Awaitable[str | Observation]: ...


class ActionSpec:
    """An action with its name, function, schema and description."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        ends_run: bool = False,
        executes: bool = False,
    ) -> None:
        self.name = name
        self.function: ActionFunction = function
        self.ends_run = ends_run
        self.executes = executes
        """Whether it executes what the agent wrote."""
        self.description, self._help = read_docstring(function)
        self.arguments = _arguments_model(name, function, self._help)

    @property
    def tool_name(self) -> str:
        """The name as an Inspect tool, e.g. `read_file`."""
        return self.function.__name__

    @property
    def parameters(self) -> dict[str, Json]:
        return self.arguments.model_json_schema()

    def usage(self) -> str:
        """A description of the action for a prompt: name, purpose, arguments."""
        lines = [f"{self.name}: {self.description}"]
        for name, info in self.arguments.model_fields.items():
            optional = "" if info.is_required() else " (optional)"
            lines.append(f"    {name}{optional}: {info.description}")
        return "\n".join(lines)

    def example(self) -> str:
        """The arguments as JSON, each with its description as the value."""
        fields = self.arguments.model_fields.items()
        return json.dumps({name: f"[{info.description}]" for name, info in fields})

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """The arguments with their types; raises ActionError with the correct usage."""
        if LEFT_OUT in arguments:
            reason = f"{self.name}: the arguments cannot be used: {arguments[LEFT_OUT]}"
            raise ActionError(reason, fault="bad arguments")
        try:
            model = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            problems = "; ".join(self._problem(dict(problem)) for problem in error.errors()[:3])
            usage = f"{self.name}: {problems}\nUsage: {self.example()}"
            raise ActionError(usage, fault="bad arguments") from error
        return {name: getattr(model, name) for name in self.arguments.model_fields}

    def _problem(self, problem: dict[str, Any]) -> str:
        name = str(problem["loc"][0])[:MAX_NAME] if problem["loc"] else "arguments"
        if problem["type"] == "missing":
            return f"the argument {name} is missing"
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, self.arguments.model_fields, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            return f"unknown argument {name}{hint}"
        message = problem["msg"]
        return f"{name}: {message[0].lower()}{message[1:]}"


def action(
    name: str, *, ends_run: bool = False, executes: bool = False
) -> Callable[[Callable[..., Any]], ActionSpec]:
    return lambda function: ActionSpec(name, function, ends_run=ends_run, executes=executes)


class Actions:
    """The actions that a run offers, by name."""

    def __init__(self, specs: Iterable[ActionSpec]) -> None:
        self.specs = {spec.name: spec for spec in specs}

    def find(self, name: str) -> ActionSpec:
        """The action of that name in any case; raises ActionError with the known names."""
        folded = {_folded(known): spec for known, spec in self.specs.items()}
        if _folded(name) in folded:
            return folded[_folded(name)]
        near = difflib.get_close_matches(_folded(name), folded, n=1, cutoff=0.7)
        hint = f"Did you mean {folded[near[0]].name}? " if near else ""
        known = ", ".join(self.specs)
        text = f"There is no action {name[:100]!r}. {hint}Actions: {known}"
        raise ActionError(text, fault="unknown action")

    async def run(self, at: ActionContext, asked: Action) -> Observation:
        """Execute an action; raises ActionError for the agent's mistakes.

        If a model that the action asks does not answer, the run does not end.
        """
        spec = self.find(asked.name)
        try:
            result = await spec.function(at, **spec.check(asked.arguments))
        except (ContextOverflow, ModelRefused) as end:
            raise ActionError(f"{spec.name} found no answer: {end}") from end
        return result if isinstance(result, Observation) else Observation(text=result)


class Executes(Protocol):
    """Executes actions, like an Environment."""

    async def execute(self, action: Action) -> Observation: ...


def action_tools(environment: "Environment") -> "list[Tool]":
    """All actions of a run as Inspect tools."""
    return [as_tool(environment, spec) for spec in environment.actions.specs.values()]


def as_tool(environment: Executes, spec: ActionSpec) -> "Tool":
    """The action as an Inspect tool; its errors go back to the model as the tool's errors.

    The end of the run ends the sample, which is then scored.
    """
    from inspect_ai.tool import ToolDef, ToolError

    async def execute(**kwargs: Any) -> str:
        try:
            observation = await environment.execute(Action(name=spec.name, arguments=kwargs))
        except RunEnded as end:
            raise sample_end(str(end)) from end
        if observation.status in ("error", "refused"):
            raise ToolError(observation.text)
        return observation.text

    return ToolDef(
        execute,
        name=spec.tool_name,
        description=spec.description,
        parameters=tool_parameters(spec),
        parallel=False,
        max_output=0,
    ).as_tool()


def tool_parameters(spec: ActionSpec) -> "ToolParams":
    """The arguments of an action as those of an Inspect tool."""
    from inspect_ai.tool import ToolParams

    schema = spec.parameters
    return ToolParams(properties=schema.get("properties", {}), required=schema.get("required", []))


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description of a function, and those of its arguments below `Args:`."""
    text = inspect.getdoc(function) or ""
    description, _, arguments = text.partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(arguments).splitlines():
        if line.startswith(" "):
            found[name] += f" {line.strip()}"
        elif line:
            name, _, meaning = line.partition(": ")
            found[name] = meaning
    return " ".join(description.split()), found


def _arguments_model(
    name: str, function: Callable[..., Any], meanings: Mapping[str, str]
) -> type[BaseModel]:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        default = ... if parameter.default is parameter.empty else parameter.default
        description = meanings[parameter.name]
        fields[parameter.name] = (hints[parameter.name], Field(default, description=description))
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model(name.replace(" ", ""), __config__=config, **fields)
