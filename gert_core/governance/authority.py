"""Refuse people and bridges that a weaker policy source adds to those of a stronger one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.governance.people import PeopleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.governance.sources import Source

_SAYS_WHO: Final = frozenset({"people", "bridges", "personal_keys"})
_RANKS: Final = {"floor": 0, "pack": 0, "project": 1, "file": 2}
"""Those who set up the machine come before the project, and that before the command line."""
_LAST: Final = 3
_WORDS: Final = {"people": "person", "bridges": "bridge"}


def check_authority(sources: Sequence[Source]) -> None:
    """Raise ``PeopleError`` where a weaker source declares people or bridges that a stronger one does not have.

    The strongest source that says anything about who approves says it for all. Otherwise the actor of a run could add
    a bridge, or people, whose approvals count. Groups may be added: they name people that are declared.
    """
    authority: Source | None = None
    known: set[tuple[str, str]] = set()  # what is declared twice must be the same, which is checked where it is read
    for source in sources:
        for kind, word in _WORDS.items():
            for name in source.document.get(kind) or {}:
                added = (kind, name) not in known
                known.add((kind, name))
                if added and authority is not None and _rank(authority) < _rank(source):
                    raise PeopleError(
                        f"{source.title}: {word} {name!r} is not declared by {authority.title}, "
                        "which says who approves here",
                        kind,
                        name,
                    )
        if authority is None and not _SAYS_WHO.isdisjoint(source.document):
            authority = source


def _rank(source: Source) -> int:
    return _LAST if source.included else _RANKS.get(source.kind, _LAST)


__all__ = ["check_authority"]
