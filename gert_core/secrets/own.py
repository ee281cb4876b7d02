"""What gert itself writes into the data of an event, and a reader of the trace relies on: it is never masked.

A secret may be equal to a status or be part of a digest by chance. Masking these would end in a trace that cannot be
resumed, and would tell which word the secret is.
"""

from __future__ import annotations

from typing import Final

from gert_core.api.error_kinds import ErrorKind

PARTS: Final = frozenset({"failure", "outcome", "previous"})
"""Fields whose value has fields of gert's own again."""
_FIELDS: Final = frozenset(
    {
        *("status", "type", "step_id", "step_key", "key", "mode", "decision", "result", "risk_level", "category"),
        *("runbook", "runbook_hash", "tool_hashes", "block_hashes", "policy_digest", "policies", "plugins"),
        "policy_plugins",
        *("gert_version", "actor", "os_user", "host", "cwd", "run_directory", "store", "trace_sync"),
        *("approval_provider", "signer", "questions", "waited"),
        *("secrets", "input", "source", "input_sources", "idempotency_key", "duration", "delay", "severity", "rule"),
        *("ticket_id", "tickets", "request_hash", "created", "expires_at", "timestamp", "approver_id"),
        *("void", "failing", "signature", "seal", "signature_alg", "signing_key_id", "key_id", "algorithm"),
    }
)
_WORDS: Final = frozenset({*(kind.value for kind in ErrorKind), "retry", "resumed", "not_started"})


def written_by_gert(name: str, value: object) -> bool:
    """Return whether a field is gert's own: by its name, or a ``kind`` or ``reason`` that is one of gert's words."""
    return name in _FIELDS or (name in {"kind", "reason"} and value in _WORDS)


__all__ = ["PARTS", "written_by_gert"]
