"""Keep standard output for results while a run is prepared and executed, whatever else is printed meanwhile."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gert_core.plugin.printing import replaced_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def only_results(*, descriptor: bool) -> Iterator[None]:
    """Send to standard error what anything in this process prints while the block runs.

    With ``descriptor`` also what is written to descriptor 1 itself, as by a program that a plugin starts and does not
    capture; nothing that is meant for standard output may be written meanwhile.
    """
    kept = _divert() if descriptor else None
    try:
        with replaced_stdout(everywhere=True):
            yield
    finally:
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)


def _divert() -> int | None:
    """Make descriptor 1 one of standard error; return where standard output is kept, None if it cannot be done."""
    try:
        if sys.stdout.fileno() != 1:
            return None
        sys.stdout.flush()
        kept = os.dup(1)
    except (AttributeError, OSError, ValueError):  # a stream without a descriptor, or no descriptor left
        return None
    try:
        os.dup2(sys.stderr.fileno(), 1)
    except (AttributeError, OSError, ValueError):
        os.close(kept)
        return None
    return kept


__all__ = ["only_results"]
