"""Declare the options that the commands which execute runs have in common."""

from __future__ import annotations

from typing import Any

from gert_core.cli.lazy import typer


def pending_exit_code_option() -> Any:
    """Declare ``--pending-exit-code``."""
    return typer.Option("--pending-exit-code", metavar="N", help="Exit code of a run that waits for people.")


def fail_on_option() -> Any:
    """Declare ``--fail-on``."""
    return typer.Option("--fail-on", metavar="A,B", help="Exit with 4 after these outcomes.")


def record_option() -> Any:
    """Declare ``--record``."""
    return typer.Option("--record", metavar="DIR|NAME", help="Keep the run as a scenario when it ends.")


def verbose_option() -> Any:
    """Declare ``-v``, which may be given twice."""
    return typer.Option("--verbose", "-v", count=True, help="Show descriptions and what tools write; -vv: events too.")


def quiet_option() -> Any:
    """Declare ``-q``."""
    return typer.Option("--quiet", "-q", help="Show only the result, and questions.")


def progress_option() -> Any:
    """Declare ``--progress``."""
    return typer.Option("--progress", metavar="HOW", help="auto, live, plain or json (notices on stderr).")


def no_notify_option() -> Any:
    """Declare ``--no-notify``."""
    return typer.Option("--no-notify", help="Send no notifications now; `gert notify flush` does.")


__all__ = [
    "fail_on_option",
    "no_notify_option",
    "pending_exit_code_option",
    "progress_option",
    "quiet_option",
    "record_option",
    "verbose_option",
]
