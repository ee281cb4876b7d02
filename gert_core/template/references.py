"""Find the variables an expression reads in its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.template.tree import Default, Defined, Path, children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.template.tree import Node


class Reference(Struct, frozen=True, kw_only=True):
    """One use of a variable.

    ``guarded``: an argument of ``default`` or of a test for being defined, so it may be undefined. ``source`` is the
    text of the expression, ``where`` the path of its text inside the raw value, ``offset`` the position of the
    variable in that text (for the Jinja form, of the expression).
    """

    path: tuple[str, ...]
    guarded: bool = False
    source: str = ""
    where: tuple[str | int, ...] = ()
    offset: int = 0

    def below(self, key: str | int) -> Reference:
        """Return the same reference relative to the list or map that contains the text under ``key``."""
        return replace(self, where=(key, *self.where))


def references_of(tree: Node, *, source: str, offset: int) -> tuple[Reference, ...]:
    """Return every reference of a tree, in the order they are written."""
    return tuple(
        Reference(path=path.segments, guarded=guarded, source=source, offset=offset + path.offset)
        for path, guarded in _paths(tree, guarded=False)
    )


def _paths(node: Node, *, guarded: bool) -> Iterator[tuple[Path, bool]]:
    match node:
        case Path():
            yield node, guarded
        case Default(value=value, fallback=fallback):
            yield from _paths(value, guarded=True)
            yield from _paths(fallback, guarded=guarded)
        case Defined(value=value):
            yield from _paths(value, guarded=True)
        case _:
            for child in children(node):
                yield from _paths(child, guarded=guarded)


__all__ = ["Reference", "references_of"]
