"""The API for plugins: records, protocols and errors, each imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gert_core.api.approvals import (
        ApprovalProvider,
        ApprovalRequest,
        ApprovalResponse,
        ApprovalSession,
        ApprovalTicket,
        TicketStatus,
    )
    from gert_core.api.checks import Check, CheckResult, CheckServices
    from gert_core.api.commands import Command, CommandHost, RegistryView
    from gert_core.api.context import (
        WRONG_ANSWERS,
        Answer,
        BlockResult,
        Closable,
        Console,
        Deadline,
        NoAnswer,
        Question,
        Services,
        StepContext,
    )
    from gert_core.api.contracts import PURE, UNKNOWN, Contract, Param
    from gert_core.api.data import Json
    from gert_core.api.diagnostics import Diagnostic, Finding, Severity
    from gert_core.api.error_kinds import ErrorKind
    from gert_core.api.errors import (
        DocumentError,
        GertError,
        InputError,
        PluginError,
        ProjectError,
        RunError,
        StoreError,
        TraceError,
        UsageError,
    )
    from gert_core.api.events import EventType, TraceEvent
    from gert_core.api.inputs import InputBinding, InputResolver, ResolveFn
    from gert_core.api.ledgers import Ledger
    from gert_core.api.notifiers import Delivery, Notification, Notifier
    from gert_core.api.packs import ToolPack
    from gert_core.api.policies import PolicyPack
    from gert_core.api.results import (
        BlockStatus,
        Completed,
        Declined,
        Ended,
        Errored,
        Failed,
        Outcome,
        OutcomeCategory,
        Principal,
        Result,
        RunStatus,
        StepProblem,
        StepStatus,
        Undecided,
    )
    from gert_core.api.signatures import SignatureScheme
    from gert_core.api.steps import CLEANUP_TIMEOUT, Block, Branch, Flow, Gate, Include, StepType, Tools, ToolUse
    from gert_core.api.store_records import (
        Blob,
        BlobInfo,
        Claim,
        Lease,
        LedgerEntry,
        Recovered,
        RunQuery,
        RunRow,
        SchemaInfo,
        StoreServices,
        StoreType,
        TicketRow,
        Total,
    )
    from gert_core.api.stores import RunStore, Sink, StoredRun
    from gert_core.api.tickets import CallbackReply, CallbackRequest, Comment, Tickets, TicketState
    from gert_core.api.transports import Action, Reply, Target, Transport, TransportSession
    from gert_core.api.views import ProjectInfo, ProviderInfo, RunbookView, StepView

# Making the records costs more than a Python start, and a plugin's entry module needs two or three of them.
_WHERE: Final = {
    "approvals": "ApprovalProvider ApprovalRequest ApprovalResponse ApprovalSession ApprovalTicket TicketStatus",
    "checks": "Check CheckResult CheckServices",
    "commands": "Command CommandHost RegistryView",
    "context": "WRONG_ANSWERS Answer BlockResult Closable Console Deadline NoAnswer Question Services StepContext",
    "contracts": "PURE UNKNOWN Contract Param",
    "data": "Json",
    "diagnostics": "Diagnostic Finding Severity",
    "errors": "DocumentError GertError InputError PluginError ProjectError RunError StoreError TraceError UsageError",
    "error_kinds": "ErrorKind",
    "events": "EventType TraceEvent",
    "inputs": "InputBinding InputResolver ResolveFn",
    "notifiers": "Delivery Notification Notifier",
    "packs": "ToolPack",
    "policies": "PolicyPack",
    "results": (
        "BlockStatus Completed Declined Ended Errored Failed Outcome OutcomeCategory Principal Result RunStatus "
        "StepProblem StepStatus Undecided"
    ),
    "signatures": "SignatureScheme",
    "steps": "CLEANUP_TIMEOUT Block Branch Flow Gate Include StepType Tools ToolUse",
    "store_records": (
        "Blob BlobInfo Claim Lease LedgerEntry Recovered RunQuery RunRow SchemaInfo StoreServices StoreType TicketRow "
        "Total"
    ),
    "ledgers": "Ledger",
    "stores": "RunStore Sink StoredRun",
    "tickets": "CallbackReply CallbackRequest Comment TicketState Tickets",
    "transports": "Action Reply Target Transport TransportSession",
    "views": "ProjectInfo ProviderInfo RunbookView StepView",
}
_MODULE_OF: Final = {name: module for module, names in _WHERE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})


__all__ = [
    "CLEANUP_TIMEOUT",
    "PURE",
    "UNKNOWN",
    "WRONG_ANSWERS",
    "Action",
    "Answer",
    "ApprovalProvider",
    "ApprovalRequest",
    "ApprovalResponse",
    "ApprovalSession",
    "ApprovalTicket",
    "Blob",
    "BlobInfo",
    "Block",
    "BlockResult",
    "BlockStatus",
    "Branch",
    "CallbackReply",
    "CallbackRequest",
    "Check",
    "CheckResult",
    "CheckServices",
    "Claim",
    "Closable",
    "Command",
    "CommandHost",
    "Comment",
    "Completed",
    "Console",
    "Contract",
    "Deadline",
    "Declined",
    "Delivery",
    "Diagnostic",
    "DocumentError",
    "Ended",
    "ErrorKind",
    "Errored",
    "EventType",
    "Failed",
    "Finding",
    "Flow",
    "Gate",
    "GertError",
    "Include",
    "InputBinding",
    "InputError",
    "InputResolver",
    "Json",
    "Lease",
    "Ledger",
    "LedgerEntry",
    "NoAnswer",
    "Notification",
    "Notifier",
    "Outcome",
    "OutcomeCategory",
    "Param",
    "PluginError",
    "PolicyPack",
    "Principal",
    "ProjectError",
    "ProjectInfo",
    "ProviderInfo",
    "Question",
    "Recovered",
    "RegistryView",
    "Reply",
    "ResolveFn",
    "Result",
    "RunError",
    "RunQuery",
    "RunRow",
    "RunStatus",
    "RunStore",
    "RunbookView",
    "SchemaInfo",
    "Services",
    "Severity",
    "SignatureScheme",
    "Sink",
    "StepContext",
    "StepProblem",
    "StepStatus",
    "StepType",
    "StepView",
    "StoreError",
    "StoreServices",
    "StoreType",
    "StoredRun",
    "Target",
    "TicketRow",
    "TicketState",
    "TicketStatus",
    "Tickets",
    "ToolPack",
    "ToolUse",
    "Tools",
    "Total",
    "TraceError",
    "TraceEvent",
    "Transport",
    "TransportSession",
    "Undecided",
    "UsageError",
]
