"""What a server keeps to itself while runs are executed in its process: the secret by which it knows its callers."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SET_DUMPABLE: Final = 4
_OWN: Final = r"GERT_.*_KEY.*"


def hide_memory() -> None:
    """Keep other processes of this user from reading keys out of this one's memory or ``/proc``, where possible.

    This holds until the process ends: keys and passwords, and the environment it was started with, stay in its memory.
    """
    if sys.platform == "linux":
        with suppress(ImportError):  # a Python that was built without it
            import ctypes

            ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def keep_from_runs(environ: Mapping[str, str], name: str | None, *, key: str) -> dict[str, str]:
    """Return the environment for the runs of a server that has its secret in the variable ``name``.

    No tool is given that variable, and its value is masked in everything runs write, as one of gert's own keys: under
    the name ``key``, such as ``GERT_MCP_TOKEN_KEY``. No other process of this user can read it from this one.
    """
    found = dict(environ)
    if not name or not (value := found.get(name)):
        return found
    hide_memory()
    if not re.fullmatch(_OWN, name):  # of gert's own keys runs may have another use, and no tool is given one
        del found[name]
    if os.environ.get(name) == value:
        del os.environ[name]
    return {**found, key: value}


__all__ = ["hide_memory", "keep_from_runs"]
