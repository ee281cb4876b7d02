"""Call the functions of step types with steps of a document: errors have the step's place and name the plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, get_args

from msgspec.structs import replace

from gert_core.api.contracts import Contract, Param
from gert_core.api.diagnostics import Finding
from gert_core.api.results import Outcome
from gert_core.api.steps import Block, Flow, Gate, Include, ToolUse
from gert_core.documents.fields import ValueType
from gert_core.kit.time_spans import LONGEST
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.functions import PluginFault, Unusable, a_kind_of, plugin_fault
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.steps import StepType, Tools
    from gert_core.documents.tree import Path, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.plugin.states import PluginInfo


_TYPES: Final = get_args(ValueType)


class MissingTool(LookupError):  # noqa: N818 - it says what is missing
    """A tool or an action that a step names and the runbook does not have; ``rule`` is that of the finding."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class TypeFunctions:
    """The functions of the step types of one document; ``plugins`` returns the plugin that provides a type."""

    __slots__ = ("_document", "_plugins")

    def __init__(self, document: Document, plugins: Callable[[str], Sequence[PluginInfo]]) -> None:
        self._document = document
        self._plugins = plugins

    def tool_use(self, step: StepNode, body: object = None) -> ToolUse | None:
        """Return the tool that a step is going to call, if its type says so."""
        if step.type.tool_use is None:
            return None
        return self._call(step, "tool_use", _tool_use, body)  # type: ignore[no-any-return]

    def contract(self, step: StepNode, tools: Tools, body: object = None) -> Contract | None:
        """Return the contract that a step's type states; None when it states none.

        Raise ``MissingTool`` when it asks for a tool or an action that the runbook does not have.
        """
        if step.type.contract is None:
            return None
        return self._call(step, "contract", _contract, body, tools)  # type: ignore[no-any-return]

    def outputs(self, step: StepNode, body: object = None) -> Mapping[str, str]:
        """Return the names and types of the outputs that a step's type reads in the step."""
        if step.type.outputs is None:
            return {}
        return self._call(step, "outputs", _outputs, body)  # type: ignore[no-any-return]

    def outcome(self, step: StepNode, body: object = None) -> Outcome | None:
        """Return the outcome of a step that ends the run, if its type tells it beforehand."""
        if step.type.outcome is None:
            return None
        return self._call(step, "outcome", outcome_of, body)  # type: ignore[no-any-return]

    def program(self, step: StepNode, body: object = None) -> str | None:
        """Return the program that a step's ``run`` starts by itself, if its type names one."""
        if step.type.program is None:
            return None
        return self._call(step, "program", _program, body)  # type: ignore[no-any-return]

    def gate(self, step: StepNode, body: object = None) -> Gate | None:
        """Return the approval that a step demands by itself, if its type says so."""
        if step.type.gate is None:
            return None
        return self._call(step, "gate", _gate, body)  # type: ignore[no-any-return]

    def detail(self, step: StepNode, body: object = None) -> str:
        """Return what a step's type says of the step in one line; empty where it says nothing."""
        if step.type.detail is None:
            return ""
        return self._call(step, "detail", _detail, body)  # type: ignore[no-any-return]

    def check(self, step: StepNode) -> Sequence[Finding]:
        """Return the findings of a step's type about the step."""
        if step.type.check is None:
            return ()
        return self._call(step, "check", _findings)  # type: ignore[no-any-return]

    def blocks(self, step: StepNode, body: object = None) -> Sequence[Block]:
        """Return the blocks of a step."""
        check = _blocks if step.type.flow is Flow.IN_ORDER else _no_cleanup
        return self._call(step, "blocks", check, body)  # type: ignore[no-any-return]

    def includes(self, step: StepNode, body: object = None) -> Sequence[Include]:
        """Return the other runbooks that a step includes."""
        if step.type.includes is None:
            return ()
        return self._call(step, "includes", _includes, body)  # type: ignore[no-any-return]

    def validate(self, step_type: StepType, validate: Callable[[object], Any], own: object, path: Path) -> Any:
        """Return the model of a step's own fields; raise ``ValidationError`` when they are invalid."""
        before, here.inside = here.inside, True
        try:
            return validate(own)
        except BaseException as error:
            pass_on(error)
            from pydantic import ValidationError

            if isinstance(error, ValidationError):
                raise
            raise self._fault(step_type, "model", path, error) from error
        finally:
            here.inside = before

    def _call(self, step: StepNode, name: str, check: Callable[[Any], Any], body: object = None, *rest: object) -> Any:
        before, here.inside = here.inside, True
        try:
            found = load_target(getattr(step.type, name))
            return check(found(step.body if body is None else body, *rest) if callable(found) else found)
        except MissingTool:
            raise
        except BaseException as error:
            pass_on(error)
            raise self._fault(step.type, name, step.path, error) from error
        finally:
            here.inside = before

    def _fault(self, step_type: StepType, name: str, path: Path, error: BaseException) -> PluginFault:
        fault = plugin_fault(self._plugins(step_type.name), f"`{name}` of step type {step_type.name!r}", error)
        fault.file = self._document.file
        fault.line, fault.column = self._document.locate(path)
        return fault


def _tool_use(given: object) -> ToolUse | None:
    if given is not None and not isinstance(given, ToolUse):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a ToolUse")
    return given


def _program(given: object) -> str | None:
    if given is not None and not isinstance(given, str):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a program's name")
    return None if given is None else str.__str__(given)


def _detail(given: object) -> str:
    if not isinstance(given, str):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a text")
    return str.__str__(given)  # of a class of its own, whose methods could do anything, only the characters


def _gate(given: object) -> Gate | None:
    if given is None:
        return None
    if not isinstance(given, Gate):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a Gate")
    if isinstance(given.min_approvers, bool) or not isinstance(given.min_approvers, int) or given.min_approvers < 1:
        raise Unusable("the min_approvers of its Gate are not a positive integer")
    if not isinstance(given.approvers, tuple) or not all(isinstance(name, str) for name in given.approvers):
        raise Unusable("the approvers of its Gate are not a tuple of strings")
    if given.timeout is not None and not (isinstance(given.timeout, (int, float)) and 0 < given.timeout <= LONGEST):
        raise Unusable("the timeout of its Gate is not a positive number of seconds")
    if given.message is not None and not isinstance(given.message, str):
        raise Unusable("the message of its Gate is not a string")
    return given


def _contract(given: object) -> Contract:
    if not isinstance(given, Contract):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a Contract")
    for name in ("effects", "writes", "reads"):
        tags = getattr(given, name)
        if not isinstance(tags, (tuple, list)) or not all(isinstance(tag, str) for tag in tags):
            raise Unusable(f"the {name} of its Contract are not a tuple of strings")
        if isinstance(tags, list):
            given = replace(given, **{name: tuple(tags)})
    for name in ("inputs", "outputs"):
        params = getattr(given, name)
        if not isinstance(params, Mapping) or not all(isinstance(param, Param) for param in params.values()):
            raise Unusable(f"the {name} of its Contract are not a map of Params")
    return given


def _outputs(given: object) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a map of names and types")
    for name, kind in given.items():
        if not isinstance(name, str) or kind not in _TYPES:
            raise Unusable(f"it gave output {name!r} the type {kind!r}, which is none of {', '.join(_TYPES)}")
    return given


def outcome_of(given: object) -> Outcome:
    """Return an outcome as it is; raise ``Unusable`` when it is none."""
    if not isinstance(given, Outcome):
        raise Unusable(f"it gave {a_kind_of(given)} instead of an Outcome")
    if not isinstance(given.category, str) or not isinstance(given.code, str) or not isinstance(given.meta, Mapping):
        raise Unusable("its Outcome has a category or code that is not a string, or a meta that is not a map")
    return given


def _findings(given: Any) -> Sequence[Finding]:
    return _list_of(Finding, given)


def _blocks(given: Any) -> Sequence[Block]:
    found = _own(given)
    if any(before.cleanup and not after.cleanup for before, after in pairwise(found)):
        raise Unusable("it gave a cleanup block in front of another block")
    return found


def _includes(given: Any) -> Sequence[Include]:
    found: list[Include] = _list_of(Include, given)
    for one in found:
        if not isinstance(one.path, str) or not isinstance(one.inputs, Mapping):
            raise Unusable("an Include of its list has a path that is not a string, or inputs that are not a map")
    return found


def _no_cleanup(given: Any) -> Sequence[Block]:
    found = _own(given)
    if any(block.cleanup for block in found):
        raise Unusable("it gave a cleanup block, but its blocks do not run in order")
    return found


def _own(given: Any) -> Sequence[Block]:
    found: list[Block] = _list_of(Block, given)
    if any(block.boundary for block in found):
        raise Unusable("it gave a boundary block, which the core makes of what a step includes")
    return found


def _list_of(kind: type[Any], given: Any) -> list[Any]:
    if not isinstance(given, list) and (given is None or isinstance(given, (str, Mapping))):
        raise Unusable(f"it gave {a_kind_of(given)} instead of a list of {kind.__name__}s")
    found = list(given)
    for item in found:
        if not isinstance(item, kind):
            raise Unusable(f"it gave {a_kind_of(item)} in its list of {kind.__name__}s")
    return found


__all__ = ["MissingTool", "TypeFunctions", "outcome_of"]
