"""The rules of validation by stable id: severity, phase and a one-line description."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping


class ValidationRule(Struct, frozen=True, kw_only=True):
    """One rule of validation; the page ``docs/reference/rules.md`` has a section for each."""

    id: str
    severity: Severity
    phase: int
    meaning: str


_STRUCTURE: Final = {
    "yaml-syntax": "the file is not one readable YAML 1.2 document",
    "duplicate-key": "a map has the same key twice",
    "api-version": "`apiVersion` is missing or unknown",
    "unknown-field": "a field that this kind of document does not have",
    "missing-field": "a required field is missing",
    "wrong-type": "a value of the wrong type or not one of the allowed values",
}

_VALUES: Final = {
    "unknown-step-type": "no installed plugin provides this step type",
    "duplicate-step-id": "two steps have the same id",
    "outcome-category": "an outcome category that is not one of the four",
    "branch-empty": "a step that takes one of several arms has none",
    "assert-empty": "an assertion step without checks",
    "assert-type": "an assertion of an unknown kind",
    "for-each-shape": "`for_each` over something that is neither a list nor a map, or one `key` for all items",
    "repeat-unbounded": "a loop without `max`",
    "dag-unknown-node": "a node depends on one that does not exist",
    "dag-cycle": "nodes depend on each other in a circle",
    "wait-shape": "a wait that is neither for a time nor for a condition with steps that look and a `timeout`",
    "evidence-shape": "evidence that contradicts its own kind, or twice the same name",
    "runbook-not-found": "an included runbook has no file, or a path that is not written out",
    "runbook-cycle": "runbooks include each other in a circle, or too deep",
    "tool-not-found": "a listed tool has no file",
    "tool-invalid": "a listed tool's file is not a valid tool",
    "side-effects-and-effects": "`side_effects` next to `effects`",
    "governance-action": "a governance rule without a usable action",
    "governance-default": "the default rule is not the last one, or not alone",
    "store-credentials": "the address of the store in a project file has a password in it",
    "connect-credentials": "the address of a tool's server has a password in it",
    "people-invalid": "people, bridges or keys prove nothing, or a group or step names what cannot be an approver",
    "tag-syntax": "a tag under `effects`, `writes` or `reads` that is not in lower case",
    "duration-syntax": "an invalid duration",
    "visibility-glob": "a visibility pattern that can match nothing",
    "scope-syntax": "a scope that is not a path of simple names",
    "pattern-unsupported": "a pattern uses something that cannot be searched in linear time, such as look-around",
}

_MEANING: Final = {
    "name-collision": "a step, input or constant takes a name that another one has",
    "reserved-name": "a name that gert itself uses in templates",
    "end-unreachable": "a path reaches the end of the steps without an outcome",
    "end-in-finally": "a step that ends the run stands in cleanup that runs whatever the outcome is",
    "next-unknown": "a jump to a step that does not exist",
    "next-cross-scope": "a jump into another list of steps",
    "next-backward-unbounded": "a jump backwards, or to itself, without `max`",
    "unresolved-variable": "a template uses a variable that no path defines before it",
    "template-syntax": "an invalid template",
    "condition-not-expression": "a condition that is neither a boolean nor exactly one `{{ }}`",
    "constant-shadowed": "a step's output would overwrite a constant",
    "loop-variable-leak": "a loop's variable is used outside the loop",
    "parallel-output-clash": "two concurrent blocks set the same variable",
    "tool-undeclared": "a step uses a tool that the runbook does not list",
    "action-unknown": "the tool has no such action, or several and none is named",
    "input-missing": "a required input is not given",
    "input-unknown": "an input that the contract does not declare",
    "input-type": "an input whose type cannot be the declared one",
    "extension-contract": "a step whose type needs an inline `contract` has none",
    "contract-relaxed": "a contract claims to be safer than the one it builds on",
    "inputs-from-unknown": "`inputs_from` names something that is not a map",
    "inputs-from-key": "`inputs_from` spreads a key that the contract does not declare",
    "retry-container": "`retry` on a step that has blocks",
    "export-undeclared": "`export` of something the step does not produce",
    "export-collision": "`export` of a name that an input or a constant has, or that another step exports too",
    "provider-unknown": "an input's `from` names a source that does not exist",
    "plugin-failed": "an installed plugin failed to check the runbook",
}

_WARNINGS: Final = {
    "unreachable-step": "no path leads to this step",
    "maybe-undefined": "an output is read that may be missing: it is optional, or its step may be skipped or fail",
    "input-shadowed": "an input's name is read where a step's output has taken its place",
    "export-shadowed": "an output is promoted to a name that another step exports",
    "parallel-conflict": "concurrent blocks touch the same resource and will run one after another",
    "branch-not-exhaustive": "no arm is certain to match",
    "transport-missing": "no installed plugin provides the tool's transport",
    "side-effects-deprecated": "`side_effects` is deprecated; use `effects` and `writes`",
    "platform-mismatch": "the tool is not meant for this operating system",
    "secret-missing": "a required secret is not in the environment",
    "shadowed-by-loop": "a name read after a loop that a step inside the loop sets too, without exporting it",
    "wait-look-writes": "a wait looks with a step that writes",
    "program-missing": "the program that an action starts is not found",
    "timeout-ignored": "a step's `timeout` is longer than its tool, its action or a step around it allows",
    "retry-not-repeatable": "`retry` on something that writes and is not idempotent, which is attempted once",
    "group-unknown": "a rule or a step names a group of approvers that no policy in view declares",
    "approval-impossible": "more people must approve than those that a rule or a step names",
    "never-equal": "a status or an outcome's category is compared with a word that it never has",
    "not-acted-on": "a field that has no effect",
    "webhook-literal": "an address that people are told at stands in a file that others read",
}


def _table() -> Mapping[str, ValidationRule]:
    rules: dict[str, ValidationRule] = {}
    groups = ((_STRUCTURE, 1), (_VALUES, 2), (_MEANING, 3))
    for group, phase in groups:
        for name, meaning in group.items():
            rules[name] = ValidationRule(id=name, severity=Severity.ERROR, phase=phase, meaning=meaning)
    for name, meaning in _WARNINGS.items():
        rules[name] = ValidationRule(id=name, severity=Severity.WARNING, phase=3, meaning=meaning)
    return MappingProxyType(rules)


MACHINE: Final = frozenset({"secret-missing", "program-missing", "platform-mismatch"})
"""Warnings that depend on the machine rather than on the document; ``--strict`` does not count them."""

RULES: Final[Mapping[str, ValidationRule]] = _table()
"""Every rule of the core and of the standard step types; plugins may report others."""

__all__ = ["MACHINE", "RULES", "ValidationRule"]
