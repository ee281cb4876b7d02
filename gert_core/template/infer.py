"""Infer the static type of a template's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.template.compile import Condition, Listing, Mapped, Single, Static, Template, TextTemplate
from gert_core.template.tree import (
    AllOf,
    AnyOf,
    Call,
    Choice,
    ComparisonChain,
    Const,
    Default,
    Defined,
    Items,
    Pairs,
    Path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.template.tree import Node

    Types = Callable[[tuple[str, ...]], str | None]


def infer(template: Template | Condition, types: Types) -> str:
    """Return the type of a template's value: ``string int float bool list object any``; ``types`` is for variables."""
    match template:
        case Condition():
            return "bool"
        case TextTemplate():
            return "string"
        case Listing():
            return "list"
        case Mapped():
            return "object"
        case Static(value=value):
            return type_of(value)
        case Single(expression=expression):
            return _type(expression.tree, types)
    return "any"


def type_of(value: object) -> str:
    """Return the type of a value; null has the type ``any``."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int"
        case float():
            return "float"
        case list() | tuple():
            return "list"
        case dict():
            return "object"
    return "any"


def _type(node: Node, types: Types) -> str:
    match node:
        case Const(value=value):
            return type_of(value)
        case Path(segments=segments):
            return types(segments) or "any"
        case Call(function=function, args=args):
            if function.returns in ("number", "sum"):
                found = [_type(arg, types) for arg in args]
                return _common(found) if function.returns == "sum" and "string" in found else _number(found)
            return str(function.returns)
        case AllOf(args=args) | AnyOf(args=args):
            return _common([_type(arg, types) for arg in args])
        case Default(value=value, fallback=fallback):
            return _common([_type(value, types), _type(fallback, types)])
        case Choice(then=then, other=other):
            return _common([_type(then, types), _type(other, types)])
        case Defined() | ComparisonChain():
            return "bool"
        case Items():
            return "list"
        case Pairs():
            return "object"
    return "any"


def _common(found: list[str]) -> str:
    return found[0] if found and len(set(found)) == 1 else "any"


def _number(found: list[str]) -> str:
    if all(kind == "int" for kind in found):
        return "int"
    return "float" if found and set(found) <= {"int", "float"} else "any"


__all__ = ["infer", "type_of"]
