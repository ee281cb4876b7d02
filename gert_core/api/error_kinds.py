"""The kinds of errors: stable words that scripts, runbooks and scenarios can rely on."""

from __future__ import annotations

from enum import StrEnum


class ErrorKind(StrEnum):
    """Every kind that gert and its standard plugins use; plugins may have kinds of their own as plain text.

    What each of them means is on the page *Error kinds* of the reference.
    """

    # Steps that fail
    EXIT_CODE = "exit_code"
    EXTENSION_FAILED = "extension_failed"
    ASSERTION = "assertion"
    NO_BRANCH_MATCHED = "no_branch_matched"
    REJECTED = "rejected"
    CHECKLIST_INCOMPLETE = "checklist_incomplete"
    OUTCOME_NOT_ACCEPTED = "outcome_not_accepted"
    CANNED = "canned"

    # Steps with an error
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    SPAWN = "spawn"
    OUTPUT_TOO_LARGE = "output_too_large"
    CRASHED = "crashed"
    CLOSED = "closed"
    PROTOCOL = "protocol"
    TRANSPORT_MISSING = "transport_missing"
    TOOL_UNDECLARED = "tool_undeclared"
    ACTION_UNKNOWN = "action_unknown"
    CONTRACT_EXCEEDED = "contract_exceeded"
    SECRET_LOST = "secret_lost"  # noqa: S105 - a word, not a secret
    SECRET_MISSING = "secret_missing"  # noqa: S105 - a word, not a secret
    INPUT_MISSING = "input_missing"
    INPUT_UNKNOWN = "input_unknown"
    INPUT_TYPE = "input_type"
    WRONG_TYPE = "wrong_type"
    TEMPLATE = "template"
    EXTRACT = "extract"
    OUTPUT_TYPE = "output_type"
    CONTRACT_VIOLATION = "contract_violation"
    EVIDENCE_UNAVAILABLE = "evidence_unavailable"
    ATTACHMENT = "attachment"
    WAIT_TIMEOUT = "wait_timeout"
    UPSTREAM_FAILED = "upstream_failed"
    FOR_EACH_SHAPE = "for_each_shape"
    DUPLICATE_KEY = "duplicate_key"
    EXPORT_COLLISION = "export_collision"
    SCENARIO_MISS = "scenario_miss"
    PLUGIN_FAILED = "plugin_failed"
    EVENT_RESERVED = "event_reserved"
    APPROVAL_PROVIDER = "approval_provider"

    # Contract violations
    UNDECLARED_OUTPUT = "undeclared_output"
    MISSING_OUTPUT = "missing_output"
    MISSING_ARTIFACT = "missing_artifact"
    ARTIFACT_TOO_LARGE = "artifact_too_large"
    NONDETERMINISTIC = "nondeterministic"

    # Decisions and approvals
    GOVERNANCE_DENIED = "governance_denied"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_TIMEOUT = "approval_timeout"
    APPROVAL_NO_ANSWER = "approval_no_answer"
    APPROVAL_UNUSABLE = "approval_unusable"
    APPROVAL_MALFORMED = "approval_malformed"
    APPROVAL_STALE = "approval_stale"
    APPROVAL_WRONG_TICKET = "approval_wrong_ticket"
    APPROVAL_DUPLICATE = "approval_duplicate"
    APPROVAL_OWN_ACTOR = "approval_own_actor"
    APPROVAL_VOID = "approval_void"
    APPROVER_UNKNOWN = "approver_unknown"
    APPROVAL_NOT_ALLOWED = "approval_not_allowed"
    APPROVAL_AGENT = "approval_agent"
    KEY_NOT_PERSONAL = "key_not_personal"
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_WRONG = "signature_wrong"
    SIGNATURE_ALGORITHM = "signature_algorithm"
    SIGNATURE_KEY_MISSING = "signature_key_missing"
    SIGNATURE_KEY_UNUSABLE = "signature_key_unusable"

    # Runs
    NO_OUTCOME = "no_outcome"
    NEXT_BOUND = "next_bound"
    CONSTANT_CYCLE = "constant_cycle"
    RUN = "run"
    RUN_NOT_FOUND = "run_not_found"
    RUN_ID = "run_id"
    RUN_LOCKED = "run_locked"
    STILL_RUNNING = "still_running"
    RUN_DIRECTORY = "run_directory"
    LEDGER = "ledger"
    RUN_EXISTS = "run_exists"
    BLOB_EXISTS = "blob_exists"
    LEASE_LOST = "lease_lost"
    STORE_SCHEMA = "store_schema"
    STORE_UNAVAILABLE = "store_unavailable"
    NOT_RESUMABLE = "not_resumable"
    UNKNOWN_OUTCOME = "unknown_outcome"
    RESUME_DIVERGED = "resume_diverged"
    DRIFT = "drift"
    APPROVAL_UNVERIFIED = "approval_unverified"
    TRACE_ALTERED = "trace_altered"
    TRACE = "trace"
    SIGNING_KEY = "signing_key"
    SIGNING_KEY_MISSING = "signing_key_missing"
    SIGNER_CHANGED = "signer_changed"
    ANSWER_UNKNOWN = "answer_unknown"
    ANSWER_INVALID = "answer_invalid"
    ANSWER_DUPLICATE = "answer_duplicate"
    ANSWER_AGENT = "answer_agent"
    TICKET_UNKNOWN = "ticket_unknown"
    TICKET_BROKEN = "ticket_broken"
    TICKET_ALTERED = "ticket_altered"
    TICKET_REUSED = "ticket_reused"
    TICKET_RESOLVED = "ticket_resolved"
    TICKET_EXPIRED = "ticket_expired"
    TICKET_DUPLICATE = "ticket_duplicate"
    TICKET_OWN_ACTOR = "ticket_own_actor"

    # Commands
    USAGE = "usage"
    INPUT = "input"
    INPUT_PROVIDER = "input_provider"
    SECRET_NAME = "secret_name"  # noqa: S105 - a word, not a secret
    SECRET_TOO_SHORT = "secret_too_short"  # noqa: S105 - a word, not a secret
    PROJECT = "project"
    POLICY = "policy"
    INVALID = "invalid"
    PREFLIGHT = "preflight"
    PLUGIN = "plugin"
    CONFLICT = "conflict"
    UNKNOWN_NAME = "unknown_name"
    OUTPUT = "output"
    SYSTEM = "system"
    ERROR = "error"
    INTERNAL = "internal"


__all__ = ["ErrorKind"]
