"""Who calls: the id that runs are attributed to, and whose runs a caller may manage."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ErrorKind, UsageError
from gert_core.kit.owners import account_name

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from gert_core.hosting import RunView

AGENT: Final = "agent:"
_LONGEST: Final = 48
_OTHER: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Caller(Struct, frozen=True, kw_only=True):
    """A caller: ``principal`` is who it is known to be, ``client`` what it calls itself."""

    principal: str
    client: str

    @property
    def actor(self) -> str:
        """The actor of its runs, which is an agent whatever the client is called."""
        return f"{AGENT}{self.client}@{self.principal}"

    def owns(self, view: RunView) -> bool:
        """Return whether a run was started by this principal through a server, with whichever client."""
        actor = None if view.state is None else view.state.facts.get("actor")
        return isinstance(actor, str) and actor.startswith(AGENT) and actor.rpartition("@")[2] == self.principal

    def refuse_others(self, view: RunView) -> None:
        """Raise ``UsageError`` for the run of somebody else."""
        if not self.owns(view):
            raise UsageError(
                f"run {view.run_id} was not started by {self.principal} through this server",
                kind=ErrorKind.RUN_NOT_OWN,
                hint="a person can do it with gert",
            )


def principal_of(token: str | None) -> str:
    """Return who everybody is who can talk to this server: the holder of its token, or the user of this process."""
    if token is not None:
        return f"token-{hashlib.sha256(token.encode()).hexdigest()[:12]}"
    return _OTHER.sub("-", account_name(os.getuid()))


def caller_of(ctx: ServerRequestContext[Any, Any], principal: str) -> Caller:
    """Return who calls; the name of the client is for display only."""
    params = ctx.session.client_params
    name = "client" if params is None else params.client_info.name
    return Caller(principal=principal, client=_OTHER.sub("-", name).strip("-.")[:_LONGEST] or "client")


__all__ = ["Caller", "caller_of", "principal_of"]
