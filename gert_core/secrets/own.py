"""What gert itself writes into the data of an event, and a reader of the trace relies on: it is never masked.

A secret may be equal to a status or be part of a digest by chance. Masking these would end in a trace that cannot be
resumed, and would tell which word the secret is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELDS: Final = frozenset(
    {
        *("status", "type", "step_id", "step_key", "key", "mode", "decision", "result", "risk_level", "category"),
        *("runbook", "runbook_hash", "tool_hashes", "block_hashes", "policy_digest", "policies", "plugins"),
        *("include_hashes", "include_policies", "policy_plugins"),
        *("gert_version", "actor", "os_user", "host", "cwd", "run_directory", "store", "trace_sync"),
        *("approval_provider", "signer", "questions", "waited"),
        *("secrets", "input", "source", "input_sources", "idempotency_key", "duration", "delay", "severity", "rule"),
        *("ticket_id", "tickets", "request_hash", "created", "expires_at", "timestamp", "approver_id"),
        *("void", "failing", "signature", "seal", "signature_alg", "signing_key_id", "key_id", "algorithm"),
        *("time", "until", "seconds", "started", "written", "uid", "attempt", "torn_bytes"),
    }
)
_WORDS: Final = frozenset({*(kind.value for kind in ErrorKind), "retry", "resumed", "not_started"})
REQUEST: Final = "request"
"""The part of an event, and of a ticket, that is an approval request."""
PARTS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("failure", "outcome", "previous", "structured_outcome"), _FIELDS),
    **dict.fromkeys(("branch", "contract", "resolved_contract", "contract_summary", "approval"), frozenset()),
    "identity": frozenset({"provider", "tenant", "user"}),
    "question": frozenset({"kind", "name"}),
    REQUEST: frozenset(
        {
            *("v", "generation", "run_id", "step_key", "step_id", "risk", "requested_by", "expires_at", "vars_hash"),
            *("runbook_hash", "tool_hash", "policy_digest", "documents", "callers", "min_approvers", "exclude_actor"),
        }
    ),
    "shown": frozenset({"runbook_name", "step_type", "created", "timeout", "require_signed"}),
    "command": frozenset({"program_sha256"}),
}
"""Fields whose value has fields again, whose names are gert's, with those whose value is gert's own as well."""


def written_by_gert(name: str, value: object, part: str = "") -> bool:
    """Return whether a field is gert's own: by its name, or a ``kind`` or ``reason`` that is one of gert's words."""
    return name in (PARTS[part] if part else _FIELDS) or (name in {"kind", "reason"} and value in _WORDS)


__all__ = ["PARTS", "REQUEST", "written_by_gert"]
