"""The command line; ``--version`` is answered before anything else is imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; never raise. Without ``argv``, as a program, end the process."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args == ["--version"]:
        from gert_core import __version__

        sys.stdout.write(f"gert {__version__}\n")
        return 0
    from gert_core.cli.app import run
    from gert_core.cli.lean import leave

    code = run(args)
    return leave(code) if argv is None else code


__all__ = ["main"]
