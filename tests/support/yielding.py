"""A plugin with a transport, a provider, a resolver and a scheme, whose hooks are generators."""

from __future__ import annotations

import hashlib

from gert_core import hookimpl
from gert_core.api import (
    ApprovalProvider,
    ApprovalResponse,
    ApprovalTicket,
    ErrorKind,
    InputResolver,
    Reply,
    SignatureScheme,
    StepProblem,
    Transport,
)


class MemorySession:
    def call(self, action, inputs, deadline):
        if action.name == "slow" and deadline.wait(60):
            raise StepProblem(ErrorKind.CANCELLED if deadline.cancelled else ErrorKind.TIMEOUT, "gave up")
        return Reply(exit_code=0, stdout="yes")

    def close(self):
        pass


class Approver:
    def __init__(self, services):
        self.services = services

    def submit(self, request):
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        if deadline.stopped:
            return None
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=self.services.config.get("answer") == "yes",
            approver_id=self.services.environ.get("APPROVER", ""),
            method="always",
            timestamp="2026-01-01T00:00:00Z",
        )

    def close(self):
        pass


def remember(bindings, deadline, services):
    return {b.name: services.config[b.path] for b in bindings if b.path in services.config}


def sign(key, message):
    if not key:
        raise ValueError("the key is empty")
    return hashlib.sha256(key + message).hexdigest()


@hookimpl
def gert_transports():
    yield Transport(name="memory", open=lambda target, services: MemorySession(), summary="Answers at once.")


@hookimpl
def gert_approval_providers():
    yield ApprovalProvider(name="always", open=Approver, summary="Approves.")


@hookimpl
def gert_input_resolvers():
    yield InputResolver(name="memory", resolve=remember, summary="Remembers.")


@hookimpl
def gert_signature_schemes():
    yield SignatureScheme(algorithm="mirror", sign=sign, verify=lambda k, m, s: k != b"" and sign(k, m) == s)
