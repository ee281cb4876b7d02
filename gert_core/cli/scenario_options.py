"""Options that several commands about scenarios take, declared once."""

from __future__ import annotations

from typing import Any

from gert_core.cli.lazy import typer


def runbooks_argument() -> Any:
    """Declare ``FILE|DIR...``."""
    return typer.Argument(metavar="FILE|DIR", help="Runbooks, or directories of them.", readable=False)


def scenario_option() -> Any:
    """Declare ``--scenario``, which may be given several times."""
    return typer.Option("--scenario", metavar="NAME", help="Only this one (* and ? work); repeatable.")


def all_option() -> Any:
    """Declare ``--all``."""
    return typer.Option("--all", help="Also scenarios that are not golden.")


__all__ = ["all_option", "runbooks_argument", "scenario_option"]
