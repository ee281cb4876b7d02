"""The syntax tree of expressions, common to both syntaxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.template.arguments import Function

Node: TypeAlias = (
    "Const | Path | Lookup | Call | AllOf | AnyOf | Default | Defined | Choice | ComparisonChain | Items | Pairs"
)
"""A node of the tree."""


class Const(Struct, frozen=True):
    """A literal."""

    value: object


class Path(Struct, frozen=True):
    """A variable by its whole path; ``offset`` counts from the start of the expression."""

    segments: tuple[str, ...]
    offset: int = 0


class Lookup(Struct, frozen=True):
    """Member access by computed keys."""

    base: Node
    keys: tuple[Node, ...]


class Call(Struct, frozen=True):
    """A function, filter or operator of the closed tables."""

    function: Function
    args: tuple[Node, ...]


class AllOf(Struct, frozen=True):
    """``and``: the first false value, or the last."""

    args: tuple[Node, ...]


class AnyOf(Struct, frozen=True):
    """``or``: the first true value, or the last."""

    args: tuple[Node, ...]


class Default(Struct, frozen=True):
    """A value, or the fallback when it is undefined or null (with ``empty`` also when it is false)."""

    value: Node
    fallback: Node
    empty: Node | None = None


class Defined(Struct, frozen=True):
    """Whether a value is defined."""

    value: Node


class Choice(Struct, frozen=True):
    """One of two values."""

    test: Node
    then: Node
    other: Node


class ComparisonChain(Struct, frozen=True):
    """``a < b < c``: each part is evaluated once, each pair compared by its function."""

    parts: tuple[Node, ...]
    functions: tuple[Function, ...]


class Items(Struct, frozen=True):
    """A list literal."""

    items: tuple[Node, ...]


class Pairs(Struct, frozen=True):
    """A map literal."""

    pairs: tuple[tuple[Node, Node], ...]


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of a node, in the order they are written."""
    parts = _PARTS.get(type(node))
    return () if parts is None else parts(node)


def _pairs(node: Any) -> tuple[Node, ...]:
    return tuple([part for pair in node.pairs for part in pair])


def _default(node: Any) -> tuple[Node, ...]:
    return (node.value, node.fallback) if node.empty is None else (node.value, node.fallback, node.empty)


# By type: to match each pattern in turn takes four times as long, and validation asks for the parts of every node.
_PARTS: Final[dict[type, Callable[[Any], tuple[Node, ...]]]] = {
    Call: lambda node: node.args,
    AllOf: lambda node: node.args,
    AnyOf: lambda node: node.args,
    Lookup: lambda node: (node.base, *node.keys),
    Default: _default,
    Defined: lambda node: (node.value,),
    Choice: lambda node: (node.test, node.then, node.other),
    Items: lambda node: node.items,
    ComparisonChain: lambda node: node.parts,
    Pairs: _pairs,
}


def path_of(name: str, rest: tuple[str, ...], offset: int = 0) -> Path:
    """Return a path; below ``scope``, ``/`` separates as ``.`` does."""
    if name == "scope":
        rest = tuple(part for segment in rest for part in segment.split("/") if part)
    return Path((name, *rest), offset)


def constant_key(node: Node) -> str | None:
    """Return the path segment of a literal key, None for other nodes."""
    if isinstance(node, Const):
        if isinstance(node.value, str):
            return node.value
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return str(node.value)
    return None


def lookup(base: Node, keys: tuple[Node, ...]) -> Node:
    """Return a member access; literal keys below a path lengthen the path, so that analysis has the whole of it."""
    while keys and isinstance(base, Path):
        key = constant_key(keys[0])
        if key is None:
            break
        base = path_of(base.segments[0], (*base.segments[1:], key), base.offset)
        keys = keys[1:]
    if isinstance(base, Lookup):  # one walk over the whole of it: facts about items are found from their list or map
        return Lookup(base.base, (*base.keys, *keys))
    return Lookup(base, keys) if keys else base


__all__ = [
    "AllOf",
    "AnyOf",
    "Call",
    "Choice",
    "ComparisonChain",
    "Const",
    "Default",
    "Defined",
    "Items",
    "Lookup",
    "Node",
    "Pairs",
    "Path",
    "children",
    "constant_key",
    "lookup",
    "path_of",
]
