"""Have single modules of libraries executed with work put off that no command needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Around = Callable[[ModuleType], AbstractContextManager[None]]
    """Returns what is entered while a module is executed."""


class _Finder:
    """Finds the modules as Python does and has them executed by ``_Loader``."""

    def __init__(self) -> None:
        self.around: dict[str, Around] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        around = self.around.get(name)
        if around is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                loader: Any = _Loader(spec.loader, around)
                spec.loader = loader
                return spec
        return None


class _Loader:
    """Executes a module inside of what puts its work off."""

    def __init__(self, loader: Any, around: Around) -> None:
        self._loader = loader
        self._around = around

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        with self._around(module):
            self._loader.exec_module(module)


_FINDER: Final[Any] = _Finder()


def defer(around: Mapping[str, Around]) -> None:
    """Have work put off when these modules are imported."""
    _FINDER.around.update(around)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def withdraw() -> None:
    """Leave further imports alone."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


__all__ = ["defer", "withdraw"]
