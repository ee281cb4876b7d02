"""Approvals: tickets, request hashes, signatures, and the decision about a request."""

from __future__ import annotations

from gert_core.approvals.decide import ApprovalDecision, ApprovalProcess
from gert_core.approvals.requests import ticket_id, valid_ticket_id
from gert_core.approvals.signing import (
    UnverifiedError,
    key_variable,
    request_hash,
    sign_response,
    signature_payload,
    signing_key,
    verify_key,
    verify_response,
)

__all__ = [
    "ApprovalDecision",
    "ApprovalProcess",
    "UnverifiedError",
    "key_variable",
    "request_hash",
    "sign_response",
    "signature_payload",
    "signing_key",
    "ticket_id",
    "valid_ticket_id",
    "verify_key",
    "verify_response",
]
