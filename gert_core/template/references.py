"""Find the variables an expression reads in its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.template.tree import Default, Defined, Path, children

if TYPE_CHECKING:
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
    paths: list[tuple[Path, bool]] = []
    _add_paths(tree, paths, guarded=False)
    return tuple(
        [
            Reference(path=path.segments, guarded=guarded, source=source, offset=offset + path.offset)
            for path, guarded in paths
        ]
    )


def _add_paths(node: Node, found: list[tuple[Path, bool]], *, guarded: bool) -> None:
    if isinstance(node, Path):
        found.append((node, guarded))
    elif isinstance(node, Default):
        _add_paths(node.value, found, guarded=True)
        _add_paths(node.fallback, found, guarded=guarded)
    elif isinstance(node, Defined):
        _add_paths(node.value, found, guarded=True)
    else:
        for child in children(node):
            _add_paths(child, found, guarded=guarded)


__all__ = ["Reference", "references_of"]
