"""Say where the steps of a run stand in its documents, which no trace records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gert_core.documents.tree import Runbook
    from gert_core.runs.result import RunResult


def located(result: RunResult) -> dict[str, Any]:
    """Return the document of a result with the file and the line of every step; null where only the trace was read."""
    document, book = result.to_json(), result.book
    known: dict[str, tuple[str, int] | None] = {}
    for step in document["steps"]:
        name = step["step_id"] if book is None or not book.included else step["step_key"]
        if name not in known:
            known[name] = place_of(book, step["step_key"])
        step["file"], step["line"] = known[name] or (None, None)
    return document


def place_of(book: Runbook | None, key: str) -> tuple[str, int] | None:
    """Return the file and the line of the step of a step key; a file below the working directory is relative to it."""
    found = None if book is None or not key else book.find(key)
    if found is None:
        return None
    inside, node = found
    return _relative(inside.document.file), inside.document.locate(node.path)[0]


def _relative(file: str) -> str:
    if not Path(file).is_absolute():
        return file
    try:
        return os.path.relpath(file) if Path(file).is_relative_to(Path.cwd()) else file
    except OSError:
        return file


__all__ = ["located", "place_of"]
