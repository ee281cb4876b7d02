"""Refuse people, bridges and groups with which a weaker policy source says who approves for a stronger one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.governance.people import GROUP, PeopleError, comparable_id, identities_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.governance.sources import Source

_SAYS_WHO: Final = frozenset({"people", "bridges", "personal_keys"})
_RANKS: Final = {"floor": 0, "pack": 0, "project": 1, "file": 2}
"""Those who set up the machine come before the project, and that before the command line."""
_RUN: Final = 2
"""The rank from which on a source is chosen by the person who starts the run."""
_LAST: Final = 3
_WORDS: Final = {"people": "person", "bridges": "bridge"}
_MEANING: Final = "must stand in the same policy, or in a stronger one"


def check_authority(sources: Sequence[Source]) -> None:
    """Raise ``PeopleError`` where a weaker source declares people, bridges or groups that a stronger one has to.

    The strongest source that says anything about who approves says it for all. Otherwise the actor of a run could add
    a bridge, or people, whose approvals count, or say whose key is that of a person, or who is in a group, that a rule
    names; a person is also said by giving that name to another one, as an identity. Further groups may be added: they
    name people that are declared.
    """
    authority: Source | None = None
    known: set[tuple[str, str]] = set()  # what is declared twice must be the same, which is checked where it is read
    for number, source in enumerate(sources):
        stronger = [one for one in sources[:number] if _rank(one) < _rank(source)]
        for kind, name in _declared(source):
            if (kind, name) in known:
                continue
            known.add((kind, name))
            if kind != "groups" and authority is not None and _rank(authority) < _rank(source):
                raise PeopleError(
                    f"{source.title}: {_WORDS[kind]} {name!r} is not declared by {authority.title}, "
                    "which says who approves here",
                    kind,
                    name,
                )
            _refuse_filling_in(source, kind, name, stronger)
        if authority is None and not _SAYS_WHO.isdisjoint(source.document):
            authority = source


def _refuse_filling_in(source: Source, kind: str, name: str, stronger: Sequence[Source]) -> None:
    """Refuse a declaration that gives a meaning to what stronger sources only name or demand."""
    for one in stronger:
        meant = _named(one)
        if kind == "people" and comparable_id(name) in meant:
            message = f"{source.title}: person {name!r} is named by {one.title}; who that is {_MEANING}"
        elif kind == "people" and (alias := _alias(source, name, meant)) is not None:
            message = f"{source.title}: {alias} of person {name!r} is named by {one.title}; who that is {_MEANING}"
        elif kind == "groups":
            if f"{GROUP}{name}" not in _approvers(one):
                continue
            message = f"{source.title}: group {name!r} is named by {one.title}; who is in it {_MEANING}"
        elif _rank(source) < _RUN:
            continue
        elif one.require_signed or next(_approvers(one), None) is not None:
            what = f"{_WORDS[kind]} {name!r}"
            message = f"{source.title}: {what}: {one.title} says whose approval counts; who that is {_MEANING}"
        else:
            continue
        raise PeopleError(message, kind, name)


def _alias(source: Source, name: str, meant: set[str]) -> str | None:
    """Return the identity of a person, as it is written, that stands for one of the names; None when none does."""
    raw = source.document["people"][name] or {}
    return next((f"{space} {value!r}" for space, value in identities_of(raw) if comparable_id(value) in meant), None)


def _declared(source: Source) -> Iterator[tuple[str, str]]:
    """Yield what a source declares: kind and name."""
    for kind in (*_WORDS, "groups"):
        for name in source.document.get(kind) or {}:
            yield kind, name


def _approvers(source: Source) -> Iterator[str]:
    """Yield the people and groups that the rules of a source name."""
    return (name for rule in source.rules for name in rule.approvers)


def _named(source: Source) -> set[str]:
    """Return the comparable ids of the people whom a source names in rules or as members of groups."""
    groups = source.document.get("groups") or {}
    members = (member for group in groups.values() for member in group)
    return {comparable_id(name) for name in (*_approvers(source), *members) if not name.startswith(GROUP)}


def _rank(source: Source) -> int:
    return _LAST if source.included else _RANKS.get(source.kind, _LAST)


__all__ = ["check_authority"]
