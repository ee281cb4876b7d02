"""The command line; ``--version`` is answered before anything else is imported."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COLLECTION = (100_000, 20, 20)
"""When the garbage collector looks for garbage. A command makes modules and documents, which stay until its end: with
Python's own thresholds (700, 10, 10) walking over them takes a fifth of ``gert validate`` and a seventh of
``gert exec``, measured on a runbook of ten steps."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; never raise. Without ``argv``, as a program, end the process."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args == ["--version"] and _print_version():
        return 0
    if argv is None:
        import gc

        gc.set_threshold(*COLLECTION)
        from gert_core.cli import early

        early.leave_on_interrupt(as_json="--json" in args)
        from gert_core.cli import records

        records.import_msgspec()
    from gert_core.cli.app import run
    from gert_core.cli.lean import leave

    try:
        code = run(args)
        return leave(code) if argv is None else code
    except KeyboardInterrupt:  # once more, while the first one is reported
        if argv is None:
            os._exit(130)  # what is still to be written may have no reader
        return 130


def _print_version() -> bool:
    """Return whether the version was printed; the command line reports what prevents it."""
    from gert_core import __version__

    try:
        sys.stdout.write(f"gert {__version__}\n")
        sys.stdout.flush()
    except (AttributeError, OSError):  # it is closed, or cannot be written
        return False
    return True


__all__ = ["COLLECTION", "main"]
