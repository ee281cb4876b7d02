"""Verbs that plugins add to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@record
class Command:
    """``gert NAME ARGS...`` calls ``target(args) -> exit code``; the summary is static so that help imports nothing."""

    name: str
    summary: str
    target: str | Callable[[Sequence[str]], int]


__all__ = ["Command"]
