"""Defer the compilation of the patterns of PyYAML's own loaders until one of them is used.

gert reads YAML with libyaml, and PyYAML compiles them when it is imported all the same: one of them covers all of
Unicode, and compiling it takes a fifteenth of ``gert validate`` of ten steps, measured from wheels.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

MODULES: Final = frozenset({"yaml.reader", "yaml.resolver", "yaml.constructor"})
"""The modules whose patterns are deferred."""


class DeferredPattern:
    """Stands for a compiled pattern; the first use compiles it."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        import re

        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


class _Finder:
    """Finds the modules as Python does and has them executed by ``_Loader``."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in MODULES:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                loader: Any = _Loader(spec.loader)
                spec.loader = loader
                return spec
        return None


class _Loader:
    """Executes a module while ``re.compile`` makes deferred patterns for it, and for it alone."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        import re

        real: Any = re.compile

        def compile(*given: Any) -> Any:  # noqa: A001 - named in tracebacks
            asked = sys._getframe(1).f_globals.get("__name__")
            return DeferredPattern(*given) if asked == module.__name__ else real(*given)

        re.compile = compile  # type: ignore[assignment]
        try:
            self._loader.exec_module(module)
        finally:
            re.compile = real


_FINDER: Final[Any] = _Finder()


def defer() -> None:
    """Have the patterns deferred when the modules are imported."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def withdraw() -> None:
    """Leave further imports alone."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


__all__ = ["MODULES", "DeferredPattern", "defer", "withdraw"]
