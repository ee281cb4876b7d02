"""Shapes of values for static analysis: a type and, where declared, its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Shape:
    """A type with its known members; ``fields`` None means that any member may exist.

    ``item`` is the shape of every member whose name is not known beforehand: list items, values of a keyed map.
    ``beside`` are members that a path leads to although they do not belong to the value, such as an item's status.
    ``lacks`` are the categories of outcomes that do not have this member of their ``meta``. ``optional``: a step that
    succeeded need not have it. ``closed``: no member has another name than those in ``fields``, despite an ``item``.
    """

    __slots__ = ("beside", "closed", "fields", "item", "kind", "lacks", "optional", "origin")

    def __init__(
        self,
        kind: str,
        *,
        fields: Mapping[str, Shape] | None = None,
        item: Shape | None = None,
        origin: str = "",
        beside: Mapping[str, Shape] | None = None,
        lacks: frozenset[str] = frozenset(),
        optional: bool = False,
        closed: bool = False,
    ) -> None:
        self.kind = kind
        self.fields = fields
        self.item = item
        self.beside = beside or {}
        self.lacks = lacks
        self.optional = optional
        self.closed = closed
        self.origin = origin
        """What gave it this type, where that explains a mistake (``for_each``)."""


ANY: Final = Shape("any")
_NAMES: Final = ("string", "int", "float", "bool", "list", "object")
_SHAPES: Final = {name: Shape(name) for name in _NAMES}
_PERHAPS: Final = Shape("any", optional=True)
_OPTIONAL: Final = {name: Shape(name, optional=True) for name in _NAMES}
"""One of each, so that the same output of several branches is the same shape, and stays optional."""
_WRITTEN: Final = {
    "string": "write a text, in quotes where it looks like something else",
    "int": "write a whole number, such as `3`",
    "float": "write a number, such as `0.5`",
    "bool": "write `true` or `false`",
    "list": "write a list, such as `[a, b]`",
    "object": "write a map, such as `{a: 1}`",
}


def type_hint(kind: str) -> str | None:
    """Return how a literal value of a declared type is written."""
    return _WRITTEN.get(kind)


def declared_shape(kind: str, *, optional: bool = False) -> Shape:
    """Return the shape of a declared type."""
    return _OPTIONAL.get(kind, _PERHAPS) if optional else _SHAPES.get(kind, ANY)


def of_value(value: object) -> Shape:
    """Return the shape of a literal value of a document; a string that is a template may be anything."""
    if isinstance(value, str):
        return ANY if value.startswith("{{") and value.endswith("}}") else _SHAPES["string"]
    if isinstance(value, bool):
        return _SHAPES["bool"]
    if isinstance(value, int):
        return _SHAPES["int"]
    if isinstance(value, float):
        return _SHAPES["float"]
    if isinstance(value, dict):
        return Shape("object", fields={str(key): of_value(item) for key, item in value.items()})
    if isinstance(value, list):
        return Shape("list", item=joined([of_value(item) for item in value]))
    return ANY


def joined(shapes: Sequence[Shape]) -> Shape:
    """Return the common shape of all; maps get the fields that any of them has."""
    if not shapes:
        return ANY
    first = shapes[0]
    if len(shapes) == 1 or all(shape is first for shape in shapes):
        return first
    if any(shape.kind != first.kind for shape in shapes):
        return ANY
    if first.kind == "object" and all(shape.fields is not None and shape.item is None for shape in shapes):
        names: dict[str, list[Shape]] = {}
        for shape in shapes:
            for name, member in (shape.fields or {}).items():
                names.setdefault(name, []).append(member)
        beside = {name: member for shape in shapes for name, member in shape.beside.items()}
        return Shape("object", fields={name: joined(members) for name, members in names.items()}, beside=beside)
    return declared_shape(first.kind)


def collection(item: Shape, *, keyed: bool) -> Shape:
    """Return the shape of a loop's results: a list, or a map by the key of each item."""
    return Shape("object", fields={}, item=item) if keyed else Shape("list", item=item, origin="for_each")


def mapped(item: Shape, keys: Iterable[str], *, beside: Iterable[str]) -> Shape:
    """Return the shape of the results of a loop whose keys are known; paths also lead to what is ``beside`` them."""
    own = dict.fromkeys(beside, ANY)
    return Shape("object", fields=dict.fromkeys(keys, item), item=item, beside=own, closed=True)


class MissingMember:
    """The end of a path that cannot be followed: the member ``segment`` of ``shape`` does not exist."""

    __slots__ = ("depth", "segment", "shape")

    def __init__(self, *, shape: Shape, segment: str, depth: int) -> None:
        self.shape = shape
        self.segment = segment
        self.depth = depth


def follow(shape: Shape, path: Sequence[str], start: int) -> Shape | MissingMember:
    """Follow ``path`` from position ``start``; return the shape reached, or the member that cannot exist."""
    for depth in range(start, len(path)):
        segment = path[depth]
        kind = shape.kind
        if kind == "any":
            return shape if shape.lacks or shape.optional else ANY
        if kind == "list":
            if not segment.isdigit():
                return MissingMember(shape=shape, segment=segment, depth=depth)
            shape = shape.item or _below(shape)
        elif kind == "object":
            if shape.fields is not None and segment in shape.fields:
                shape = shape.fields[segment]
            elif segment in shape.beside:
                shape = shape.beside[segment]
            elif shape.item is not None and not shape.closed:
                shape = shape.item
            elif shape.fields is None:
                return _below(shape)
            else:
                return MissingMember(shape=shape, segment=segment, depth=depth)
        else:
            return MissingMember(shape=shape, segment=segment, depth=depth)
    return shape


def _below(shape: Shape) -> Shape:
    """Return the shape of a member of which nothing is known: it is missing where what it belongs to is."""
    return _PERHAPS if shape.optional else ANY


__all__ = [
    "ANY",
    "MissingMember",
    "Shape",
    "collection",
    "declared_shape",
    "follow",
    "joined",
    "mapped",
    "of_value",
    "type_hint",
]
