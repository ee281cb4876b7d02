"""Approvals: tickets, request hashes, signatures, and the decision about a request."""

from __future__ import annotations

from gert_core.approvals.decide import ApprovalDecision, ApprovalProcess
from gert_core.approvals.requests import ticket_id, valid_ticket_id
from gert_core.approvals.signing import (
    UnverifiedError,
    sign_response,
    signature_payload,
    verify_response,
)

__all__ = [
    "ApprovalDecision",
    "ApprovalProcess",
    "UnverifiedError",
    "sign_response",
    "signature_payload",
    "ticket_id",
    "valid_ticket_id",
    "verify_response",
]
