"""Requests that come back from where people were asked, and what was sent there, which is rewritten when it changes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api import (
    CallbackReply,
    ErrorKind,
    GertError,
    PluginError,
    RunQuery,
    Services,
    UsageError,
)
from gert_core.approvals import inbox
from gert_core.host import SilentConsole
from gert_core.hosting.views import TicketView
from gert_core.kit.log import warning
from gert_core.kit.nearest import nearest
from gert_core.kit.tickets import TicketStore
from gert_core.plugin.config import PluginServices
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.kinds import APPROVAL
from gert_core.plugin.lazy import load_target
from gert_core.plugin.loader import saying
from gert_core.plugin.printing import inside
from gert_core.secrets.approvals import refuse_own_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import (
        ApprovalProvider,
        ApprovalRequest,
        ApprovalResponse,
        CallbackRequest,
        StoredRun,
        TicketState,
    )
    from gert_core.hosting.site import Site

    Decide = Callable[..., ApprovalResponse]

PROVIDER: Final = "provider"
"""The field of what is kept of a message that names the provider that sent it."""
SETTLED: Final = "settled"
_WAITING: Final = ("running", "interrupted", "approval_pending", "answer_pending", "blocked", "queued", "cancelled")
"""The statuses of runs that may still have, or get, open tickets."""


def _unasked(_: ApprovalRequest) -> None:
    """Return nothing where what changed since the last approval is not asked for: all runs are looked at for it."""


class HostTickets:
    """The tickets of a store, as programs that answer for people are given them."""

    def __init__(self, site: Site, decide: Decide, take: Decide) -> None:
        self._site = site
        self._decide = decide
        self._take = take

    def ticket(self, ticket_id: str, *, since_last: bool = True) -> TicketState:
        """Return where a ticket stands, and unless that is not wanted what changed since the last approval."""
        entry = inbox.find(self._site.store, ticket_id, known=self._site.known)
        return TicketView(entry, self._site.since_last if since_last else _unasked).state

    def decide(
        self,
        ticket_id: str,
        *,
        approved: bool,
        identity: Mapping[str, str],
        evidence: str | None = None,
        reason: str | None = None,
    ) -> TicketState:
        """Answer a ticket for the person with an identity, and return where it stands then."""
        self._decide(ticket_id, approved=approved, identity=identity, evidence=evidence, reason=reason)
        return self.ticket(ticket_id, since_last=False)

    def take(self, response: ApprovalResponse) -> TicketState:
        """Add an answer as it was given, and return where its ticket stands then."""
        self._take(response)
        return self.ticket(response.ticket_id, since_last=False)

    def sent(self, ticket_id: str) -> Mapping[str, Any] | None:
        """Return what is kept of the messages about a ticket."""
        return self._store_of(ticket_id).sent(ticket_id)

    def keep_sent(self, ticket_id: str, data: Mapping[str, Any]) -> None:
        """Keep something else of them."""
        self._store_of(ticket_id).keep_sent(ticket_id, data)

    def _store_of(self, ticket_id: str) -> TicketStore:
        return TicketStore(inbox.find(self._site.store, ticket_id).run)


class Messages:
    """What approval providers sent about the tickets of a store, and what comes back."""

    def __init__(self, site: Site, *, decide: Decide, take: Decide, actor: str) -> None:
        self._site = site
        self._actor = actor
        self._tickets = HostTickets(site, decide, take)
        self._lock = threading.Lock()
        self._watched: dict[str, str] = {}
        self._seen: dict[str, object] = {}
        self._looked = False

    def services(self, provider: str) -> Services:
        """Return what a provider is given outside of runs."""
        if self._site.project is not None:
            refuse_own_keys(self._site.project, provider)
        services = Services(
            console=SilentConsole(),
            actor=self._actor,
            environ=self._site.environ,
            tickets=self._tickets,
            since_last=self._site.since_last,
        )
        return PluginServices(services, registry=self._site.registry, project=self._site.project).of(APPROVAL, provider)

    def callback(self, provider: str, request: CallbackRequest) -> CallbackReply:
        """Return a provider's answer to an HTTP request; raise ``UsageError`` when there is no such callback."""
        known = {name: one for name, one in self._site.registry.approval_providers().items() if one.callback}
        if provider not in known:
            like = nearest(provider, known)
            hint = f"did you mean {like}?" if like else "install the plugin of the provider here as well"
            raise UsageError(f"no approval provider {provider!r} takes callbacks here", hint=hint)
        try:
            with inside():
                reply = load_target(known[provider].callback)(request, self.services(provider))
        except GertError:
            raise
        except BaseException as error:  # of a plugin, in a thread of a server
            pass_on(error)
            raise self._broken(provider, f"its callback raised {saying(error)}") from error
        if not isinstance(reply, CallbackReply):
            raise self._broken(provider, f"its callback returned a {type(reply).__name__}")
        return reply

    def _broken(self, provider: str, what: str) -> PluginError:
        plugins = ", ".join(one.distribution for one in self._site.registry.providers(APPROVAL, provider))
        return PluginError(f"approval provider {provider!r} of {plugins}: {what}", kind=ErrorKind.APPROVAL_PROVIDER)

    def update(self) -> None:
        """Have providers rewrite what they sent about tickets that have changed since."""
        with self._lock:
            self._watched.update(self._open())
            self._looked = True
            for ticket_id, run_id in list(self._watched.items()):
                try:
                    with self._site.store.open(run_id) as run:
                        over = self._update(run, ticket_id)
                except (GertError, OSError) as error:
                    said = error.message if isinstance(error, GertError) else str(error)
                    warning("approvals", "messages about ticket %s are not rewritten: %s", ticket_id, said)
                    over = False
                if over:
                    del self._watched[ticket_id]
                    self._seen.pop(ticket_id, None)

    def _open(self) -> Iterator[tuple[str, str]]:
        """Yield ticket and run of what may have to be rewritten; the first time that is every ticket there is."""
        store = self._site.store
        if not self._looked:
            yield from ((row.ticket_id, row.run_id) for row in store.tickets())
            return
        for row in store.runs(RunQuery(status=_WAITING)):
            try:
                with store.open(row.run_id) as run:
                    tickets = TicketStore(run).tickets()
            except (GertError, OSError):  # it was deleted, or cannot be read: a listing says so
                continue
            yield from ((ticket, row.run_id) for ticket in tickets)

    def _update(self, run: StoredRun, ticket_id: str) -> bool:
        """Have one ticket's messages rewritten; return whether there is nothing more to do about it."""
        store = TicketStore(run)
        sent = store.sent(ticket_id)
        if sent is None or sent.get(SETTLED):
            return True  # it is looked at again while its run waits
        provider = self._provider(sent)
        if provider is None or provider.update is None:
            return True
        entry = inbox.entry_of(run, ticket_id, known=self._site.known)
        if entry is None:
            return True
        state = TicketView(
            entry, _unasked
        ).state  # the last approval is looked for only when there is something to show
        now = (state.status, state.approvers, state.run_status, len(state.comments), sent.get("at"))
        if self._seen.get(ticket_id) == now:
            return False
        full = replace(state, since_last=self._site.since_last(state.request))
        kept = self._rewritten(provider, full, sent)
        if kept is None:
            return False
        if kept != sent:
            store.keep_sent(ticket_id, {**kept, PROVIDER: provider.name})
        self._seen[ticket_id] = now
        return bool(kept.get(SETTLED))

    def _provider(self, sent: Mapping[str, Any]) -> ApprovalProvider | None:
        return self._site.registry.approval_providers().get(str(sent.get(PROVIDER)))

    def _rewritten(
        self, provider: ApprovalProvider, state: TicketState, sent: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        try:
            with inside():
                found: Mapping[str, Any] | None = load_target(provider.update)(
                    state, sent, self.services(provider.name)
                )
        except BaseException as error:  # of a plugin, in a thread of a server
            pass_on(error)
            told = error.message if isinstance(error, GertError) else saying(error)
            warning("approvals", "provider %s did not rewrite its messages: %s", provider.name, told)
            return None
        return found


__all__ = ["PROVIDER", "SETTLED", "HostTickets", "Messages"]
