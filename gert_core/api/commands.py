"""Verbs that plugins add to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Command(Struct, frozen=True, kw_only=True):
    """``gert NAME ARGS...`` calls ``target(args) -> exit code``; the summary is static so that help imports nothing."""

    name: str
    summary: str
    target: str | Callable[[Sequence[str]], int]


__all__ = ["Command"]
