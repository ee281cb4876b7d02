"""The program ``gert-mcp``: ``gert mcp`` under a name of its own, for clients that start one program."""

from __future__ import annotations

import runpy
import sys


def main() -> None:
    """Run ``gert mcp`` with the arguments of this program."""
    sys.argv = ["gert", "mcp", *sys.argv[1:]]
    runpy.run_module("gert_core", run_name="__main__", alter_sys=True)


__all__ = ["main"]
