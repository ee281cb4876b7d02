"""Who is asked in a hosted run, and how: the actor, the approval provider, and what becomes of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import ErrorKind, UsageError
from gert_core.governance.people import is_agent
from gert_core.hosting.inbox import RECORDED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.hosting import Notice
    from gert_core.documents.project import Project
    from gert_core.hosting.hosted import HostedRun

    OnNotice = Callable[[Notice], object]

HOST: Final = "host"
"""The approval provider of a host, whose tickets are those of the inbox."""


class HostPeople(Struct, frozen=True):
    """Who is asked in a run, and how."""

    approval: str | None
    chosen: str | None
    actor: str
    on_notice: OnNotice | None

    @property
    def questions(self) -> str:
        """What becomes of questions of steps: without a listener they suspend the run."""
        return self.chosen or ("suspend" if self.on_notice is None else "ask")

    def provider(self, project: Project | None, recorded: str | None) -> str:
        """Return the approval provider: the one asked for, the project's, the recorded one, else the host itself."""
        own = None if project is None else project.model.approvals.provider
        return self.approval or own or (None if recorded == RECORDED else recorded) or HOST


def actor_id(name: str, kind: str) -> str:
    """Return the id of an actor, which shows that an agent is one."""
    if kind == "agent":
        return name if is_agent(name) else f"agent:{name}"
    if kind != "human":
        raise UsageError(f"actor_kind is human or agent, not {kind!r}")
    return name


def answer_open(
    hosted: HostedRun, asked: Mapping[str, str], values: Mapping[str, str], *, by: str | None, reject: str | None
) -> list[str]:
    """Answer open questions of a run that is executed here."""
    if unknown := [name for name in values if name not in asked]:
        raise UsageError(f"nothing called {unknown[0]} is asked now", kind=ErrorKind.ANSWER_UNKNOWN)
    if reject is not None:
        hosted.decline(next(iter(asked.values())), reject, by=by)
        return []
    for name, value in values.items():
        hosted.answer(asked[name], value, by=by)
    return [name for name in asked if name not in values]


__all__ = ["HOST", "HostPeople", "actor_id", "answer_open"]
