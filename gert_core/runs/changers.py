"""Tell who decided, besides the person who started a run, what it executes: people who resumed it with changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def changed_by(data: Mapping[str, object]) -> frozenset[str]:
    """Return the names of who resumed a run with changed documents or stated results, by the data of ``run_resumed``.

    Empty when the run only went on: who approves a step may also resume the run.
    """
    if not data.get("drift") and not data.get("reconciled"):
        return frozenset()
    return frozenset(str(data[name]) for name in ("actor", "os_user") if data.get(name))


__all__ = ["changed_by"]
