"""Who people are: the ids, keys and identities that policies declare, and which of them an approval needs."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from gert_core.keys import DEFAULT_ALGORITHM, UnusableKeyError, parse_key
from gert_core.kit.escaping import is_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gert_core.api import SignatureScheme
    from gert_core.keys import Key

AGENT: Final = "agent:"
GROUP: Final = "group:"
NO_ONE: Final = "(no person)"
"""Stands for the approvers of rules that have none in common; it is refused as an id."""
HIDDEN: Final = "(name hidden)"
"""Stands for the name of an approver that has a secret of the run in it; it is refused as an id."""
LONGEST: Final = 500
"""The most characters of an id."""
LOGIN: Final = "login"
"""The space of ids that people have where they log in."""
SPACES: Final = ("os", LOGIN, "slack", "teams")
"""Where a person has identities; each is an id that its owner cannot change."""


class PeopleError(ValueError):
    """A mistake in what policies declare about people; ``where`` is its place in the document that has it."""

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.where = where


class Person(Struct, frozen=True, kw_only=True):
    """One person of a policy."""

    id: str
    keys: tuple[Key, ...] = ()
    identities: frozenset[tuple[str, str]] = frozenset()
    """Pairs of space and id: ``("slack", "T1/U1")``."""


class People(Struct, frozen=True, kw_only=True):
    """The people of a run's policies; ``persons`` is by comparable id."""

    persons: Mapping[str, Person] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bridges: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    """Programs that answer for people (web, Slack), with the keys they sign with."""
    personal_keys: bool = False
    """Whether only a signature by a person's own key counts, never one by a bridge."""

    def named(self, person_id: str) -> Person | None:
        """Return the person with an id; never one for an agent."""
        return None if is_agent(person_id) else self.persons.get(comparable_id(person_id))

    def meant_by(self, name: str) -> list[Person]:
        """Return the persons that a name may mean: the one with this id, else all that have it as an identity."""
        own = self.named(name)
        return self._alike(name) if own is None else [own]

    def _alike(self, name: str) -> list[Person]:
        """Return the persons that have a name as an identity, in whichever space; never one for an agent."""
        wanted, persons = comparable_id(name), () if is_agent(name) else self.persons.values()
        return [one for one in persons if any(comparable_id(value) == wanted for _, value in one.identities)]

    @property
    def have_keys(self) -> bool:
        """Whether a policy has keys: of a person, or of a program that answers for people."""
        return any(person.keys for person in self.persons.values()) or any(self.bridges.values())

    def with_identity(self, space: str, value: str) -> Person | None:
        """Return the person with an identity."""
        found = [person for person in self.persons.values() if (space, value) in person.identities]
        return found[0] if len(found) == 1 else None

    def known_as(self, name: str) -> frozenset[str]:
        """Return the comparable ids of who is meant by a name: the name, and the persons with it as id or identity."""
        return frozenset({comparable_id(name), *(comparable_id(person.id) for person in self._alike(name))})

    def expand(self, approvers: Iterable[str]) -> frozenset[str]:
        """Return the comparable ids that a rule's ``approvers`` stand for; an agent only where it is named itself."""
        found: set[str] = set()
        for name in approvers:
            if name.startswith(GROUP):
                members = self.groups.get(name.removeprefix(GROUP), frozenset())
                found |= {member for member in members if not is_agent(member)}
            else:
                found.add(comparable_id(name))
        return frozenset(found)

    def without_keys(self) -> People:
        """Return the same people for a replay, which has no signatures."""
        bare = {name: replace(person, keys=()) for name, person in self.persons.items()}
        return replace(self, persons=bare, personal_keys=False)


NO_PEOPLE: Final = People()


def comparable_id(person_id: str) -> str:
    """Return the form in which ids are compared: case, spelling of a character and blanks make no difference.

    Of what is too long for an id only the beginning is normalised, which takes quadratic time; nothing else equals it.
    """
    return _comparable(person_id[:LONGEST]) + person_id[LONGEST:]


@lru_cache(maxsize=256)  # few people are asked about again and again
def _comparable(person_id: str) -> str:
    text = unicodedata.normalize("NFD", person_id)
    for _ in range(2):  # as Unicode defines it: folding takes some letters apart, so that they are put together again
        text = unicodedata.normalize("NFKC", text.casefold())
    return " ".join(text.split())


def is_agent(person_id: str) -> bool:
    """Return whether an id is an agent's, in whichever spelling."""
    return comparable_id(person_id).startswith(AGENT)


_MASK: Final = "<REDACTED"
_UNREAD: Final = "\ufffd"


def id_fault(person_id: str) -> str | None:
    """Return why a text cannot be a person's id, or None.

    Two ids that look the same must be the same: whatever is changed by normalising, or cannot be seen, is refused.
    """
    return f"has more than {LONGEST} characters" if len(person_id) > LONGEST else _fault(person_id)


@lru_cache(maxsize=256)
def _fault(person_id: str) -> str | None:
    if not person_id.strip():
        return "is empty"
    if unicodedata.normalize("NFKC", person_id) != person_id:
        return "has characters with another form that looks the same"
    if person_id != " ".join(person_id.split(" ")).strip() or "  " in person_id:
        return "has spaces at an end or doubled ones"
    if not is_visible(person_id):
        return "has characters that cannot be seen"
    if _UNREAD in person_id:  # whatever else was not UTF-8 would be the same person
        return f"has a mark ({_UNREAD}) in place of what is not UTF-8"
    if _MASK in person_id:  # read again from a trace, it would be the secret
        return "looks like a masked secret"
    if is_agent(person_id) and not person_id.startswith(AGENT):
        return f"is an agent's id in another spelling than {AGENT}NAME"
    if comparable_id(person_id).startswith(GROUP):
        return "is the name of a group"
    if comparable_id(person_id) == NO_ONE:
        return "stands for no person at all"
    if comparable_id(person_id) == HIDDEN:
        return "stands for a name with a secret of the run in it; if that is a person's id, declare it in a policy"
    return None


def parse_people(documents: Sequence[tuple[str, Mapping[str, Any]]]) -> People:
    """Combine the people of policies, given with their titles; raise ``PeopleError``.

    Two policies that define the same name differently are an error: otherwise one could say who the other means.
    """
    persons: dict[str, Person] = {}
    groups: dict[str, frozenset[str]] = {}
    bridges: dict[str, tuple[Key, ...]] = {}
    for title, document in documents:
        for name, raw in (document.get("people") or {}).items():
            person = _person(name, raw or {})
            _define(persons, comparable_id(name), person, f"{title}: person {name!r}", "people", name)
        for name, members in (document.get("groups") or {}).items():
            _check_members(name, members)
            named = frozenset(comparable_id(member) for member in members)
            _define(groups, name, named, f"{title}: group {name!r}", "groups", name)
        for name, raw in (document.get("bridges") or {}).items():
            keys = _keys(f"bridge {name!r}", raw.get("keys"), "bridges", name)
            _define(bridges, name, keys, f"{title}: bridge {name!r}", "bridges", name)
    _refuse_shared(persons)
    _refuse_bridged(persons, bridges)
    if persons:
        unknown = sorted({member for members in groups.values() for member in members} - set(persons))
        if unknown:
            group = next(name for name, members in groups.items() if not members.isdisjoint(unknown))
            message = f"groups name people that no policy declares: {', '.join(unknown)}"
            raise PeopleError(message, "groups", group)
    personal = any(document.get("personal_keys") for _, document in documents)
    return People(persons=persons, groups=groups, bridges=bridges, personal_keys=personal)


def check_keys(people: People, schemes: Callable[[str], SignatureScheme | None]) -> None:
    """Raise ``PeopleError`` for a key that no installed scheme can use: no answer could count by it."""
    from gert_core.plugin.lazy import load_target

    owned = [("people", person.id, person.keys) for person in people.persons.values()]
    owned += [("bridges", name, keys) for name, keys in people.bridges.items()]
    for kind, name, keys in owned:
        for index, key in enumerate(keys):
            where = (kind, name, "keys", index)
            scheme = schemes(key.algorithm)
            if scheme is None:
                raise PeopleError(f"{key.name} is for {key.algorithm!r}, which no installed plugin supports", *where)
            try:
                load_target(scheme.verify)(key.data, b"", "")
            except ValueError as error:
                raise PeopleError(f"{key.name} cannot be used: {error}", *where) from None


def _define(known: dict[str, Any], name: str, found: object, what: str, *where: str) -> None:
    if known.setdefault(name, found) != found:
        raise PeopleError(f"{what} is defined differently by another policy", *where)


def _person(name: str, raw: Mapping[str, Any]) -> Person:
    fault = "is an agent's" if is_agent(name) else id_fault(name)
    if fault is not None:
        raise PeopleError(f"{name!r} cannot be a person's id: it {fault}", "people", name)
    keys = _keys(f"person {name!r}", raw.get("keys"), "people", name)
    return Person(id=name, keys=keys, identities=frozenset(identities_of(raw)))


def space_of(provider: str) -> str:
    """Return the space of the identities that come with a provider's answers; without one of its own, ``login``."""
    return provider if provider in SPACES else LOGIN


def identities_of(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the identities that the declaration of a person has: pairs of space and id."""
    return [(space, str(value)) for space in SPACES for value in _list(raw.get(space))]


def _keys(whose: str, raw: object, *place: str) -> tuple[Key, ...]:
    found = []
    for number, text in enumerate(_list(raw), 1):
        where: tuple[str | int, ...] = (*place, "keys", number - 1)
        try:
            key = parse_key(str(text), name=f"key {number} of {whose}")
        except UnusableKeyError as error:
            raise PeopleError(str(error), *where) from None
        if not key.named or key.algorithm == DEFAULT_ALGORITHM:
            raise PeopleError(
                f"{key.name} must be a public key, such as ed25519:BASE64: a shared key does not prove who signed",
                *where,
            )
        found.append(key)
    return tuple(found)


def _check_members(group: str, members: Sequence[str]) -> None:
    """Refuse what cannot be a person's id, and an agent: its approval counts only where a rule names it itself."""
    for number, member in enumerate(members):
        if is_agent(member):
            message = f"group {group!r} has the agent {member!r}; agents are named in `approvers` of a rule itself"
            raise PeopleError(message, "groups", group, number)
        if (fault := id_fault(member)) is not None:
            message = f"group {group!r}: {member!a} cannot be a person's id: it {fault}"
            raise PeopleError(message, "groups", group, number)


def _refuse_shared(persons: Mapping[str, Person]) -> None:
    """Refuse a key or an identity that two people have: it says nothing about which of them it was."""
    seen: dict[object, str] = {}
    for person in persons.values():
        for one in (*(key.data for key in person.keys), *person.identities):
            if seen.setdefault(one, person.id) != person.id:
                what = "a key" if isinstance(one, bytes) else f"the identity {'/'.join(map(str, one))}"
                raise PeopleError(f"{seen[one]!r} and {person.id!r} have {what} in common", "people", person.id)


def _refuse_bridged(persons: Mapping[str, Person], bridges: Mapping[str, tuple[Key, ...]]) -> None:
    """Refuse a key that a person and a bridge have: who holds it would answer for everybody the bridge answers for."""
    owners = {key.data: person.id for person in persons.values() for key in person.keys}
    for name, keys in bridges.items():
        for number, key in enumerate(keys):
            if key.data in owners:
                message = f"person {owners[key.data]!r} and bridge {name!r} have a key in common"
                raise PeopleError(message, "bridges", name, "keys", number)


def _list(value: object) -> list[object]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


__all__ = [
    "GROUP",
    "HIDDEN",
    "LOGIN",
    "NO_ONE",
    "NO_PEOPLE",
    "SPACES",
    "People",
    "PeopleError",
    "Person",
    "check_keys",
    "comparable_id",
    "id_fault",
    "identities_of",
    "is_agent",
    "parse_people",
    "space_of",
]
