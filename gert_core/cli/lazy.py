"""Typer, imported when it is used: importing it takes half as long as validating a runbook.

Commands declare their parameters with it in annotations, which nothing evaluates until a Typer app is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer
else:

    class _Typer:
        """The attributes of the module ``typer``."""

        def __getattr__(self, name: str) -> object:
            import typer

            return getattr(typer, name)

    typer = _Typer()

__all__ = ["typer"]
