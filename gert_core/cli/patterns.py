"""Defer the compilation of the patterns of PyYAML's own loaders until one of them is used.

gert reads YAML with libyaml, and PyYAML compiles them when it is imported all the same: one of them covers all of
Unicode, and compiling it takes a fifteenth of ``gert validate`` of ten steps, measured from wheels.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

MODULES: Final = ("yaml.reader", "yaml.resolver", "yaml.constructor")
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


@contextmanager
def deferred_patterns(module: ModuleType) -> Iterator[None]:
    """Have ``re.compile`` make deferred patterns for a module, and for it alone, while the block runs."""
    import re

    real: Any = re.compile

    def compile(*given: Any) -> Any:  # noqa: A001 - named in tracebacks
        asked = sys._getframe(1).f_globals.get("__name__")
        return DeferredPattern(*given) if asked == module.__name__ else real(*given)

    re.compile = compile  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = real


__all__ = ["MODULES", "DeferredPattern", "deferred_patterns"]
