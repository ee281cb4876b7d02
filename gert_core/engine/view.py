"""Variables with names bound on top of them, for one expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.template import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.engine.state import Layer


class View:
    """A layer with some names bound on top, for one expression."""

    __slots__ = ("_bound", "_layer")

    def __init__(self, layer: Layer, bound: Mapping[str, object] | None = None) -> None:
        self._layer = layer
        self._bound = bound or {}

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at a path."""
        if path[0] in self._bound:
            return walk(self._bound, path, full=path)
        return self._layer.resolve(path)

    def names(self) -> Iterable[str]:
        """Return names to suggest."""
        return {*self._bound, *self._layer.names()}


__all__ = ["View"]
