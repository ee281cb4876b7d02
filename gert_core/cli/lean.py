"""Leaves out of a command's start and end what no command has a use for."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_OBSERVERS: Final = "gert_core.trace.observers"
_LOADER: Final = "pydantic.plugin._loader"
_GARBAGE: Final = 100_000
"""Objects made before the first look for garbage; modules and documents, which is what a start makes, are none."""


def lean() -> None:
    """Called first by every command; a host that uses gert as a library keeps its own settings."""
    gc.set_threshold(_GARBAGE, 20, 20)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started gert: no file of a run may take its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if "pydantic" not in sys.modules:
        sys.modules[_LOADER] = _NoPlugins(_LOADER)


def leave(code: int) -> int:
    """End the process with ``code`` at once; where that would lose something, return and let Python end it.

    Taking apart every module and object takes a fifth of a short command's time. Functions registered with
    ``atexit`` are called and what was printed goes out; files are closed by whoever opened them, which plugins do
    in ``close``. Trace observers have no such moment, and debuggers want to come back.
    """
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect or sys.flags.dev_mode
    threads = sys.modules.get("threading")
    if watched or _OBSERVERS in sys.modules or (threads is not None and threads.active_count() > 1):
        return code
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return code
    os._exit(code)


class _NoPlugins(ModuleType):
    """Stands in for the module with which pydantic looks for plugins of its own.

    That module reads the metadata of everything that is installed, with a library as slow to import as pydantic's
    models themselves. Documents are checked the same without. The variable that switches these plugins off comes
    too late to save the import, and tools would inherit it. Anything else asked of the module is answered by the
    real one.
    """

    def get_plugins(self) -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(_LOADER, None)
        return getattr(import_module(_LOADER), name)


__all__ = ["lean", "leave"]
