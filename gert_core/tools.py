"""Render the actions of tools for transports, and extract outputs from their replies."""

from __future__ import annotations

import functools
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import StepProblem
from gert_core.api.transports import Action
from gert_core.documents.tree import ITSELF
from gert_core.kit import excerpts
from gert_core.kit.wire import decode
from gert_core.template import MappingVariables, Symbol, TemplateError, compile_value, matches, shown, to_text, walk
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api.contracts import Contract
    from gert_core.api.data import Json
    from gert_core.api.transports import Reply
    from gert_core.documents.tool import ActionModel, ExtractModel
    from gert_core.documents.tree import ToolNode
    from gert_core.template import Template, Variables

_compiled: Final[Callable[[str], Template]] = functools.lru_cache(maxsize=4096)(compile_value)

_INPUT: Final = r"\{\{ *\.([A-Za-z_]\w*) *\}\}"
"""An expression that is an input and nothing else."""
REPLAYED: Final = "<tool.dir>"
"""``.tool.dir`` in a replay, which is the same on every machine."""


def render_action(
    tool: ToolNode,
    action: str,
    inputs: Mapping[str, object],
    *,
    idempotency_key: str,
    directory: str | None = None,
) -> Action:
    """Render an action; the step's resolved inputs and ``.tool.dir`` are the only variables.

    ``directory`` stands for ``.tool.dir``; None: the directory of the tool's file.
    Every element becomes one argument: null becomes an empty one, lists and maps become compact JSON.
    """
    model = tool.tool.actions[action]
    render = _Renderer(tool, action, inputs, partial=False, directory=directory)
    return Action(
        name=action,
        argv=tuple([render(raw, "argv", index) for index, raw in enumerate(model.argv or ())]),
        method=render.optional(model.method, "method"),
        stdin=render.optional(model.stdin, "stdin"),
        env={name: render(raw, "env", name) for name, raw in (model.env or {}).items()},
        config=render.data(model.settings, "config") if model.settings else {},
        idempotency_key=idempotency_key,
        repeatable=tool.contracts[action].repeatable,
        outputs=None if model.extract else tuple(tool.contracts[action].outputs),
    )


def call_inputs(contract: Contract, inputs: Mapping[str, object], *, idempotency_key: str) -> Mapping[str, object]:
    """Return the inputs of one call: a declared ``idempotency_key`` that the step does not give is the call's own."""
    if "idempotency_key" in contract.inputs and inputs.get("idempotency_key") is None:
        return {**inputs, "idempotency_key": idempotency_key}
    return inputs


def preview(
    tool: ToolNode, action: str, inputs: Mapping[str, object], *, directory: str | None = None
) -> tuple[str, ...]:
    """Return the command to show before it runs; values known only in a real run remain as their templates."""
    model = tool.tool.actions[action]
    render = _Renderer(tool, action, inputs, partial=True, directory=directory)
    program = tool.tool.meta.binary
    if model.argv:
        words = [render(raw, "argv", index) for index, raw in enumerate(model.argv)]
        return (program, *words[1:]) if program else tuple(words)
    return (program or tool.name, render.optional(model.method, "method") or action)


class _ActionVariables(MappingVariables):
    """The inputs of an action, and ``tool.dir``, which is looked up only where it is used."""

    __slots__ = ("_directory", "_tool")

    def __init__(self, data: Mapping[str, object], tool: ToolNode, directory: str | None) -> None:
        super().__init__(data)
        self._tool = tool
        self._directory = directory

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at ``path``."""
        if path[0] != ITSELF:
            return super().resolve(path)
        found = {"dir": self._directory or self._tool.directory}
        return walk({ITSELF: found}, path, full=path)


class _Renderer:
    """A renderer of the fields of one action to text."""

    __slots__ = ("_action", "_inputs", "_partial", "_tool", "_variables")

    def __init__(
        self,
        tool: ToolNode,
        action: str,
        inputs: Mapping[str, object],
        *,
        partial: bool,
        directory: str | None = None,
    ) -> None:
        contract = tool.contracts.get(action)
        # A declared input that is not given is null, not undefined.
        known = {name: None for name in contract.inputs if name not in inputs} if contract else {}
        self._variables: Variables = _ActionVariables({**known, **inputs} if known else inputs, tool, directory)
        self._action = action
        self._inputs = inputs
        self._tool = tool
        self._partial = partial

    def __call__(self, raw: object, field: str, item: str | int | None = None) -> str:
        if isinstance(raw, str) and "{{" not in raw:
            return raw
        try:
            return to_text(self._value(raw) if isinstance(raw, str) else raw)
        except TemplateError as error:
            place = field if item is None else f"{field}[{item!r}]"
            raise StepProblem(ErrorKind.TEMPLATE, f"{place} of {self._where()}: {error.message}") from None

    def _value(self, raw: str) -> Any:
        template = _compiled(raw)
        if not self._partial:
            return template.render(self._variables)
        value = template.render_partial(self._variables)
        return re.sub(_INPUT, self._as_given, value) if type(value) is Symbol else value

    def _as_given(self, found: re.Match[str]) -> str:
        """Return an input that is known only in a real run as the template that the step gives it."""
        value = self._inputs.get(found[1])
        return str(value) if type(value) is Symbol else found[0]

    def data(self, raw: Mapping[str, Json], field: str) -> dict[str, Json]:
        """Return a map with every template in it rendered; values keep their types."""
        try:
            rendered: dict[str, Json] = deepcopy(compile_value(raw).render(self._variables))
        except TemplateError as error:
            raise StepProblem(ErrorKind.TEMPLATE, f"{field} of {self._where()}: {error.message}") from None
        return rendered

    def _where(self) -> str:
        return f"action {self._action!r} of tool {self._tool.name!r}"

    def optional(self, raw: object, field: str) -> str | None:
        return None if raw is None else self(raw, field)


def extract(action: ActionModel, contract: Contract, reply: Reply) -> dict[str, object]:
    """Return the outputs of a reply, coerced to the types the contract declares.

    With ``extract`` these are the outputs it names; without, the fields of a structured reply, and of a text reply the
    declared outputs called ``stdout``, ``stderr`` and ``exit_code``. Undeclared and missing outputs are left to the
    contract check. Raises ``StepProblem``: ``extract``, ``output_type``.
    """
    if not contract.outputs and reply.outputs is None and not action.extract:
        return {}
    found = dict(_extracted(action, contract, reply) if action.extract else _unextracted(contract, reply))
    for name, value in found.items():
        param = contract.outputs.get(name)
        if param is None or (value is None and not param.required):
            continue
        try:
            found[name] = coerce(value, param.type)
        except ValueError as error:
            raise StepProblem(ErrorKind.OUTPUT_TYPE, f"output {name!r}: {error}") from None
    return found


def _unextracted(contract: Contract, reply: Reply) -> Iterator[tuple[str, object]]:
    if reply.outputs is not None:
        yield from reply.outputs.items()
        return
    for name in ("stdout", "stderr"):
        if name in contract.outputs:
            yield name, getattr(reply, name).strip()
    if "exit_code" in contract.outputs and reply.exit_code is not None:
        yield "exit_code", reply.exit_code


def assessed(action: ActionModel, reply: Reply) -> Reply:
    """Return the reply, failed or not by the action's ``exit_codes`` where it lists any."""
    if action.exit_codes is None or reply.exit_code is None:
        return reply
    if reply.exit_code in action.exit_codes:
        return replace(reply, failed=False, message="")
    program = reply.command[0] if reply.command else "the tool"
    message = reply.message or f"{program} exited with code {reply.exit_code}, which `exit_codes` does not list"
    return replace(reply, failed=True, message=message)


def _extracted(action: ActionModel, contract: Contract, reply: Reply) -> Iterator[tuple[str, object]]:
    sources = _Sources(reply)
    # A tool that failed need not have outputs.
    failed = reply.failed or bool(reply.exit_code and action.exit_codes is None)
    for name, rule in (action.extract or {}).items():
        try:
            value = sources.read(rule)
        except _ExtractError as error:
            param = contract.outputs.get(name)
            if failed or (param is not None and not param.required and not error.rule):
                continue
            raise StepProblem(ErrorKind.EXTRACT, f"output {name!r} cannot be extracted: {error}") from None
        yield name, value


class _ExtractError(Exception):
    """A reply without the value that an extract rule describes; ``rule``: the rule itself cannot be followed."""

    def __init__(self, message: str, *, rule: bool = False) -> None:
        super().__init__(message)
        self.rule = rule


class _Sources:
    """The sources of extract rules; JSON is parsed once however many rules use it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def read(self, rule: ExtractModel) -> object:
        source = "json" if rule.path else rule.source
        value = self.json if source == "json" else getattr(self._reply, source)
        if rule.path:
            value = walk_json(value, rule.path)
        if isinstance(value, str) and source != "json":
            value = value.strip()
        if rule.pattern is None:
            return value
        try:
            text = to_text(value)
            match = matches(rule.pattern, text)
        except TemplateError as error:
            raise _ExtractError(f"pattern {rule.pattern!r}: {error.message}", rule=True) from None
        if match is None:
            raise _ExtractError(f"pattern /{rule.pattern}/ does not match {source} {first_line(text)}")
        return match.part

    @functools.cached_property
    def json(self) -> object:
        if self._reply.outputs is not None:
            return self._reply.outputs
        text = self._reply.stdout.strip()
        if not text:
            raise _ExtractError("stdout is empty, and JSON is expected")
        try:
            return decode(text)
        except ValueError as error:
            raise _ExtractError(f"stdout is not valid JSON ({error}): {first_line(text)}") from None


_STEP: Final = r"\.?([^.\[\]]+)|\[(\d+)\]|\[\"([^\"]*)\"\]|\['([^']*)'\]"


def walk_json(value: object, path: str) -> object:
    """Follow ``items.0.name``, ``items[0].name``, ``["a.b"]``, with or without a leading ``$`` or dot."""
    rest = path.removeprefix("$")
    position = 0
    while position < len(rest):
        match = re.compile(_STEP).match(rest, position)
        if match is None:
            raise _ExtractError(f"path {path!r} is not valid: write items.0.name or items[0].name", rule=True)
        position = match.end()
        name = next(group for group in match.groups() if group is not None)
        try:
            value = value[int(name)] if isinstance(value, list) and name.isdecimal() else _member(value, name)
        except (KeyError, IndexError):
            raise _ExtractError(f"path {path!r} has no value at {name!r}{_keys(value)}") from None
    return value


def _member(value: Any, name: str) -> object:
    if not hasattr(value, "keys"):
        raise KeyError(name)
    return value[name]


def _keys(value: Any) -> str:
    if isinstance(value, list):
        return f"; the list there has {len(value)} items"
    if hasattr(value, "keys"):
        names = ", ".join(str(key) for key in list(value)[:8])
        return f"; the keys there are {names}" if names else "; the object there is empty"
    return f"; the value there is {first_line(shown(value))}"


def first_line(text: str) -> str:
    """Return the beginning of an output, quoted for a message."""
    line = excerpts.first_line(text, 80)
    return excerpts.quoted(line) if line else "(empty)"


__all__ = [
    "REPLAYED",
    "assessed",
    "call_inputs",
    "extract",
    "first_line",
    "preview",
    "render_action",
    "walk_json",
]
