"""The program ``gert-web``, which is the command ``gert web``."""

from __future__ import annotations

import runpy
import sys


def main() -> None:
    """Run ``gert web`` with the words of this command line, and exit as it does."""
    sys.argv[1:1] = ["web"]
    runpy.run_module("gert_core", run_name="__main__")


__all__ = ["main"]
