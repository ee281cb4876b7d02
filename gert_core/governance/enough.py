"""Find approvals that cannot be given: fewer people can answer so that it counts than a decision needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.governance.mapping import is_mapped
from gert_core.governance.people import NO_ONE, comparable_id, is_agent, space_of
from gert_core.governance.places import unknown_group
from gert_core.governance.rules import Act

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gert_core.governance.decision import Decision
    from gert_core.governance.people import People, Person
    from gert_core.governance.policies import Policies
    from gert_core.governance.rules import Rule
    from gert_core.governance.sources import Source

_SHOWN: Final = 5
"""How many people a sentence names."""
_NOBODY_IN_COMMON: Final = "no person is named by all that require it"


class Shortage(Struct, frozen=True, kw_only=True):
    """Why an approval cannot be given, as a sentence without its step, and what to do about it."""

    message: str
    hint: str


class Circle(Struct, frozen=True, kw_only=True):
    """What says of each approver whether an answer of theirs counts."""

    people: People
    only_keys: bool = False
    """Whether an answer counts only by a key that policies declare."""
    actors: Collection[str] = ()
    """The ids of the actor, where they may not approve."""
    complete: bool = True
    """Whether no other document can declare further people and bridges."""


def may_lack_approvers(policies: Policies) -> bool:
    """Return whether policies limit who approves, so that there may be too few people."""
    return _only_keys(policies) or any(rule.approvers for source in policies.sources for rule in source.rules)


def shortage(decision: Decision, policies: Policies, actors: Collection[str]) -> Shortage | None:
    """Return why the approval that a decision needs cannot be given; None when it may be.

    ``actors`` are the ids of who starts the run.
    """
    if not decision.needs_approval or any("{{" in name for one in decision.matches for name in one.approvers):
        return None  # whom a template stands for is known when the step is reached
    only_keys = _only_keys(policies)
    if not decision.approvers and not only_keys:
        return None
    excluded = decision.exclude_actor or any(map(is_agent, actors))  # an agent never approves what it asks for
    circle = Circle(people=policies.people, only_keys=only_keys, actors=actors if excluded else ())
    return _too_few(decision.approvers or tuple(policies.people.persons), decision.min_approvers, circle)


def lacking_rules(
    policies: Policies, actors: Collection[str] = (), *, complete: bool = True
) -> Iterator[tuple[Source, Rule, Shortage]]:
    """Yield each rule whose approval cannot be given, whatever else is required, with its source and why.

    Rules that name groups which none of the policies declares are left out. ``actors`` are the ids of who starts runs;
    not ``complete``: other policies may declare further people, groups and bridges.
    """
    people, only_keys = policies.people, _only_keys(policies)
    for source in policies.sources:
        for rule in source.rules:
            if rule.action is not Act.REQUIRE_APPROVAL or not (rule.approvers or (only_keys and complete)):
                continue
            acting = actors if rule.exclude_actor else ()
            circle = Circle(people=people, only_keys=only_keys, actors=acting, complete=complete)
            if (found := named_too_few(rule.approvers, rule.min_approvers, circle)) is not None:
                yield source, rule, found


def named_too_few(names: Collection[str], needed: int, circle: Circle) -> Shortage | None:
    """Return why fewer than ``needed`` of those that these names and groups stand for can answer; without names all."""
    if any("{{" in name or unknown_group(name, circle.people) is not None for name in names):
        return None
    people = circle.people
    approvers = sorted(people.expand(names)) or [NO_ONE] if names else list(people.persons)
    return _too_few(approvers, needed, circle)


def together_too_few(decision: Decision, circle: Circle) -> Shortage | None:
    """Return why fewer people than a decision needs can answer, of those that all who ask for the approval name."""
    names = [name for one in decision.matches for name in one.approvers]
    if not decision.approvers or any("{{" in name or unknown_group(name, circle.people) is not None for name in names):
        return None
    return _too_few(decision.approvers, decision.min_approvers, circle)


def _too_few(approvers: Collection[str], needed: int, circle: Circle) -> Shortage | None:
    """Return why fewer than ``needed`` of these approvers, groups written out, can answer so that it counts."""
    able: dict[str, str] = {}
    unable: list[str] = []
    hint = "name more people as approvers" + (", or lower `min_approvers`" if needed > 1 else "")
    acted = {name for own in circle.actors for name in circle.people.known_as(own)}
    for name in approvers:
        meant = circle.people.meant_by(name)
        person = meant[0] if len(meant) == 1 else None
        counted = comparable_id(name if person is None else person.id)
        if name == NO_ONE:
            unable.append(_NOBODY_IN_COMMON)
        elif len(meant) > 1:
            unable.append(f"{name!r} may be each of {', '.join(repr(one.id) for one in meant)}")
        elif counted in acted:
            unable.append(f"{name!r} starts the run and may not approve it")
            hint = "let somebody else start the run, or name more people as approvers"
        elif not _is_believed(person, circle):
            unable.append(f"{name!r} has no key in a policy that proves the answer")
            hint = "declare the public keys of more people under `people` of a policy"
        else:
            able[counted] = name if person is None else person.id
    if len(able) >= needed:
        return None
    who = f"only {_listed([repr(name) for name in able.values()], ' and ')}" if able else "none"
    message = f"{needed} people must approve it, and {who} can" if needed > 1 else "it cannot be approved"
    return Shortage(message=message + (f": {_listed(unable, '; ')}" if unable else ""), hint=hint)


def _only_keys(policies: Policies) -> bool:
    return policies.people.personal_keys or (policies.require_signed and policies.people.have_keys)


def _is_believed(person: Person | None, circle: Circle) -> bool:
    """Return whether it can be proven that an answer is this person's, where that is needed."""
    if person is None:
        return not circle.only_keys or not circle.complete
    if person.keys or not circle.only_keys:
        return True
    if not (circle.complete or circle.people.personal_keys):
        return True
    if circle.people.personal_keys or (circle.actors and not is_mapped(circle.people, circle.actors)):
        return False  # by whom a run is started whom no policy declares may be each of those that a bridge names
    answering = {space_of(name) for name, keys in circle.people.bridges.items() if keys}
    return any(space in answering for space, _ in person.identities)


def _listed(texts: list[str], between: str) -> str:
    more = len(texts) - _SHOWN
    return between.join([*texts[:_SHOWN], *([f"{more} more"] if more > 0 else [])])


__all__ = ["Circle", "Shortage", "lacking_rules", "may_lack_approvers", "named_too_few", "shortage", "together_too_few"]
