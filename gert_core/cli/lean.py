"""Set up and end the process of a command without work that no command needs."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gert_core.cli import COLLECTION, imports, metadata, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"
_BUSY_AT_EXIT: Final = ("gert_core.trace.observers", "logging", "multiprocessing", "concurrent.futures")
"""Modules that may have something to finish when Python ends: observers, handlers, processes, threads."""


@contextmanager
def lean() -> Iterator[dict[str, str]]:
    """Set up the process for one command and yield the environment that its user set, which is what tools are given.

    pydantic looks for plugins of its own among everything that is installed; documents are validated the same without.
    A user's setting of its variable wins, and a host that has imported pydantic before keeps its plugins.

    gert's own keys are only in the environment that is yielded: nothing that reads ``os.environ`` finds them. They are
    put back at the end for a caller in this process.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the parent process: no file of a run may take its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    environ = dict(os.environ)
    keys = _take_keys(environ)
    if "pydantic" not in sys.modules:
        os.environ.setdefault(_NO_PLUGINS, "1")
        metadata.defer()
    imports.defer(dict.fromkeys(patterns.MODULES, patterns.deferred_patterns))
    try:
        yield environ
    finally:
        imports.withdraw()
        metadata.withdraw()
        restore(environ)
        os.environ.update(keys)


def _take_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Remove gert's private and shared keys from ``os.environ``; without one import nothing."""
    if not any(name.startswith("GERT_") and "_KEY" in name for name in environ):
        return {}
    from gert_core.secrets.environ import own_keys

    keys = own_keys(environ)
    for name in keys:
        del os.environ[name]
    if keys:
        from gert_core.kit.server_secrets import hide_memory

        hide_memory()
    return keys


def restore(environ: Mapping[str, str]) -> None:
    """Remove what ``lean`` added to the environment; called before anything is started that would inherit it."""
    if _NO_PLUGINS not in environ:
        os.environ.pop(_NO_PLUGINS, None)


def leave(code: int) -> int:
    """End the process with ``code`` after flushing the output, without freeing every object one by one.

    Freeing them takes a tenth of a short command's time. Functions registered with ``atexit`` are not called: plugins
    close what they opened in ``close``. Where something may be left to finish, return and let Python end the process.
    """
    from gert_core.cli.render.terminal import flush

    flush()
    if _watched() or any(name in sys.modules for name in _BUSY_AT_EXIT) or _other_threads():
        return code
    os._exit(code)


def _watched() -> bool:
    """Return whether a debugger, a profiler or coverage is at work, or Python is asked to stay or to check itself."""
    monitoring = getattr(sys, "monitoring", None)
    tools = monitoring is not None and any(monitoring.get_tool(number) for number in range(6))
    traced = sys.gettrace() is not None or sys.getprofile() is not None
    return bool(tools or traced or sys.flags.inspect or sys.flags.dev_mode)


def _other_threads() -> bool:
    threads = sys.modules.get("threading")
    return threads is not None and threads.active_count() > 1


__all__ = ["COLLECTION", "lean", "leave", "restore"]
