"""Defer the import of ``importlib.metadata`` until something is looked up in it.

pydantic imports a function of it for the search for plugins even where that search is switched off, and the module
brings the standard library's parts for mail, archives and sockets with it: a fourteenth of ``gert validate`` of ten
steps, measured from wheels. ``importlib.util.LazyLoader`` does not help, because importing a name loads the module.
"""

from __future__ import annotations

import importlib
import sys
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME: Final = "importlib.metadata"
_CHANGE: Final = Lock()


class DeferredModule(ModuleType):
    """Stands for ``importlib.metadata``; the first use imports the module, which takes this one's place."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.__path__ = [f"{place}/metadata" for place in importlib.__path__]  # asked for by every import of a name

    def entry_points(self, **params: str) -> Iterable[object]:
        """Return what the module's function of this name returns; importing the name alone loads nothing."""
        found: Iterable[object] = _load().entry_points(**params)
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(_load(), name)


def defer() -> None:
    """Put the deferred module in place, unless the module is imported already."""
    if NAME not in sys.modules:
        sys.modules[NAME] = deferred = DeferredModule()
        setattr(importlib, "metadata", deferred)  # noqa: B010 - no attribute that a type checker knows


def withdraw() -> None:
    """Take the deferred module away again, if it is still there."""
    if _removed():
        delattr(importlib, "metadata")


def _load() -> ModuleType:
    # The package keeps the deferred module until the import replaces it: another thread may look there meanwhile.
    _removed()
    return importlib.import_module(NAME)


def _removed() -> bool:
    with _CHANGE:
        deferred = isinstance(sys.modules.get(NAME), DeferredModule)
        if deferred:
            del sys.modules[NAME]
        return deferred


__all__ = ["NAME", "defer", "withdraw"]
