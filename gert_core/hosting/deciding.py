"""Answer the tickets of a store from a program: for the person at it, or for people whom another system identified."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gert_core.approvals import inbox
from gert_core.approvals.checks import identity_of
from gert_core.approvals.told import told_by
from gert_core.engine.known_secrets import refuse_secrets
from gert_core.governance.people import LOGIN
from gert_core.hosting.comments import comment_on
from gert_core.kit.tickets import TicketStore
from gert_core.kit.wire import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, ApprovalResponse, CallbackReply, CallbackRequest, Comment, Services
    from gert_core.approvals.inbox import TicketEntry
    from gert_core.hosting.inbox import HostInbox
    from gert_core.hosting.messages import Messages
    from gert_core.hosting.site import Site
    from gert_core.kit.links import LinkClaims


class Deciding:
    """The tickets of one store, for hosts that answer them."""

    _site: Site
    _inbox: HostInbox
    actor: str

    def __init__(self) -> None:
        self._deciding = threading.Lock()
        self._messages: Messages | None = None

    def decide(
        self,
        ticket_id: str,
        *,
        approved: bool,
        approver: str | None = None,
        identity: Mapping[str, str] | None = None,
        evidence: str | None = None,
        reason: str | None = None,
    ) -> ApprovalResponse:
        """Answer a ticket; a run that waits for it here goes on at once.

        Without ``identity`` it is the answer of ``approver``, a claim as with ``gert approve --as``, signed when there
        is a key for that. ``identity`` is who answered as another system knows them, ``{provider, tenant, user}``: a
        policy has to say which person that is. The answer is checked before it is written, and signed with the key of
        the bridge ``provider``; one that does not count raises, and is kept apart, also one without a provider. What
        is not text in an identity raises ``approval_malformed``.
        ``evidence`` is the SHA-256 of what was received.
        """
        if identity is not None:
            identity_of(identity)  # one that is not text is nothing to look for, nor to keep
        evidence = as_text(evidence) if isinstance(evidence, str) else evidence
        with self._deciding:  # two clicks at once are one answer and a duplicate
            entry = inbox.find(self._site.store, ticket_id, known=self._site.known)
            if identity is None:
                response = self._own(entry, approved, approver or self.actor, evidence, reason)
            else:
                response = self._bridged(entry, approved, identity, evidence, reason)
        self._inbox.wake(ticket_id)
        return response

    def person_of(self, identity: Mapping[str, str]) -> str | None:
        """Return the id of the person whom policies give an identity; None when they give it to none."""
        found = self._site.known().people.with_identity(*identity_of(identity))
        return None if found is None else found.id

    def login_of(self, person: str) -> str | None:
        """Return the name under which a person logs in, as policies say; None when they do not."""
        found = self._site.known().people.named(person)
        names = sorted(name for space, name in found.identities if space == LOGIN) if found is not None else []
        return names[0] if names else None

    def is_requester(self, request: ApprovalRequest, *, identity: Mapping[str, str] | None = None) -> bool:
        """Return whether a ticket was asked for by the person with an identity, None: by the actor of this host.

        Where a rule leaves out the actor of the run, that is also the user of the operating system who started it.
        """
        people = self._site.known().people
        names = {self.actor} if identity is None else {identity_of(identity)[1], self.person_of(identity) or ""}
        asked = {request.requested_by}
        if request.exclude_actor:
            asked |= told_by(inbox.find(self._site.store, request.ticket_id).run).actors
        mine = frozenset[str]().union(*(people.known_as(name) for name in names if name))
        return any(people.known_as(name) & mine for name in asked)

    def take(self, response: ApprovalResponse) -> ApprovalResponse:
        """Add an answer as it was given, signed by the person or unsigned; one that does not count raises.

        ``identity`` in it is what another system says, and counts as such only where no signature is needed.
        """
        from gert_core.approvals.bridged import add_answer

        with self._deciding:
            entry = inbox.find(self._site.store, response.ticket_id, known=self._site.known)
            refuse_secrets(entry.run, response.reason or "", response.approver_id, self._site.environ)
            known = replace(self._site.known(), schemes=self._site.registry.signature_scheme)
            added = add_answer(entry, response, known)
        self._inbox.wake(response.ticket_id)
        return added

    def comment(self, ticket_id: str, text: str, *, by: str | None = None) -> Comment:
        """Ask or say something about a ticket that everybody sees who looks at it; it is never an answer."""
        return comment_on(self._site.store, ticket_id, text, by=by or self.actor, environ=self._site.environ)

    def use_link(self, claims: LinkClaims) -> None:
        """Mark a personal link as used; raise ``RunError`` ``link_used`` when it was used before."""
        TicketStore(inbox.find(self._site.store, claims.ticket).run).use_link(claims.ticket, claims.nonce)

    def link_used(self, claims: LinkClaims) -> bool:
        """Return whether a personal link was used."""
        return TicketStore(inbox.find(self._site.store, claims.ticket).run).is_used(claims.ticket, claims.nonce)

    def callbacks(self) -> list[str]:
        """Return the names of the approval providers that take answers over HTTP."""
        return sorted(name for name, one in self._site.registry.approval_providers().items() if one.callback)

    def callback(self, provider: str, request: CallbackRequest) -> CallbackReply:
        """Hand an HTTP request to the callback of a provider; raise ``UsageError`` when it has none."""
        return self._sent_messages().callback(provider, request)

    def provider_services(self, provider: str) -> Services:
        """Return what an approval provider is given to take answers, for programs that receive them otherwise."""
        return self._sent_messages().services(provider)

    def update_messages(self) -> None:
        """Have providers rewrite what they sent about tickets that have changed since; to be called again and again."""
        self._sent_messages().update()

    def _sent_messages(self) -> Messages:
        from gert_core.hosting.messages import Messages

        with self._deciding:
            if self._messages is None:
                self._messages = Messages(self._site, decide=self.decide, take=self.take, actor=self.actor)
            return self._messages

    def _own(
        self, entry: TicketEntry, approved: bool, approver: str, evidence: str | None, reason: str | None
    ) -> ApprovalResponse:
        refuse_secrets(entry.run, reason or "", approver, self._site.environ)
        return inbox.respond(
            entry,
            approved=approved,
            approver=approver,
            reason=reason,
            evidence=evidence,
            environ=self._site.environ,
            schemes=self._site.registry.signature_scheme,
        )

    def _bridged(
        self,
        entry: TicketEntry,
        approved: bool,
        identity: Mapping[str, str],
        evidence: str | None,
        reason: str | None,
    ) -> ApprovalResponse:
        from gert_core.approvals.bridged import answer_for
        from gert_core.hosting.bridges import bridge_key

        refuse_secrets(entry.run, reason or "", "", self._site.environ)
        known = self._site.known()
        return answer_for(
            entry,
            approved=approved,
            identity=identity,
            evidence=evidence,
            reason=reason,
            known=replace(known, schemes=self._site.registry.signature_scheme),
            key=bridge_key(self._site.environ, identity.get("provider", "")),
        )


__all__ = ["Deciding"]
