"""Verbs that plugins add to the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``gert NAME ARGS...`` calls ``target(args) -> exit code``; the summary is static so that help imports nothing."""

    name: str
    summary: str
    target: str | Callable[[Sequence[str]], int]


__all__ = ["Command"]
