"""Say before a run whose answers cannot count because no policy says who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.governance.people import GROUP, NO_ONE, is_agent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.governance.decision import Decision
    from gert_core.governance.people import People
    from gert_core.governance.policies import Policies

_SET_ASIDE: Final = (
    "an answer that comes with an identity of another system (web, chat) is set aside (approver_unknown)"
)
NO_PEOPLE_DECLARED: Final = f"no policy declares people: {_SET_ASIDE}"


def is_mapped(people: People, actors: Iterable[str]) -> bool:
    """Return whether policies say which person started a run, under one of the ids of that person."""
    return any(map(people.named, {name for own in actors for name in people.known_as(own)}))


def unmapped(policies: Policies, decisions: Iterable[Decision | None], actors: frozenset[str]) -> list[str]:
    """Return sentences about the actor and the approvers of these decisions that no policy maps to a person."""
    asked = [decision for decision in decisions if decision is not None and decision.needs_approval]
    people, found = policies.people, []
    if any(decision.exclude_actor for decision in asked) and not is_mapped(people, actors):
        who = " or ".join(repr(name) for name in sorted(actors))
        found.append(
            f"no policy says which person {who} is, who starts the run and may not approve it: {_SET_ASIDE}",
        )
    named = {
        name for decision in asked for name in decision.approvers if not (is_agent(name) or name.startswith(GROUP))
    }
    unknown = sorted(name for name in named - {NO_ONE} if people.named(name) is None)
    if unknown:
        names = ", ".join(map(repr, unknown))
        found.append(f"no policy declares {names}, who may approve, as a person: {_SET_ASIDE}")
    return found


__all__ = ["NO_PEOPLE_DECLARED", "is_mapped", "unmapped"]
