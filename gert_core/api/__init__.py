"""The only package a plugin imports: records, protocols and errors, cheap to import."""

from __future__ import annotations

from gert_core.api.approvals import (
    ApprovalProvider,
    ApprovalRequest,
    ApprovalResponse,
    ApprovalSession,
    ApprovalTicket,
    TicketStatus,
)
from gert_core.api.commands import Command
from gert_core.api.context import (
    Answer,
    BlockResult,
    Console,
    Deadline,
    NoAnswer,
    Question,
    Services,
    StepContext,
)
from gert_core.api.contracts import PURE, Contract, Param
from gert_core.api.diagnostics import Diagnostic, Problem, Severity
from gert_core.api.errors import (
    DocumentError,
    GertError,
    InputError,
    PluginError,
    ProjectError,
    RunError,
    TraceError,
    UsageError,
)
from gert_core.api.events import TraceEvent
from gert_core.api.inputs import InputBinding, InputResolver, ResolveFn
from gert_core.api.packs import ToolPack
from gert_core.api.policies import PolicyPack
from gert_core.api.results import (
    Completed,
    Ended,
    Errored,
    Failed,
    Outcome,
    OutcomeCategory,
    Principal,
    Result,
    RunStatus,
    Status,
    StepProblem,
    Undecided,
)
from gert_core.api.signatures import SignatureScheme
from gert_core.api.steps import Block, Flow, Run, StepType, Tools, ToolUse
from gert_core.api.transports import Action, Reply, Session, Target, Transport

__all__ = [
    "PURE",
    "Action",
    "Answer",
    "ApprovalProvider",
    "ApprovalRequest",
    "ApprovalResponse",
    "ApprovalSession",
    "ApprovalTicket",
    "Block",
    "BlockResult",
    "Command",
    "Completed",
    "Console",
    "Contract",
    "Deadline",
    "Diagnostic",
    "DocumentError",
    "Ended",
    "Errored",
    "Failed",
    "Flow",
    "GertError",
    "InputBinding",
    "InputError",
    "InputResolver",
    "NoAnswer",
    "Outcome",
    "OutcomeCategory",
    "Param",
    "PluginError",
    "PolicyPack",
    "Principal",
    "Problem",
    "ProjectError",
    "Question",
    "Reply",
    "ResolveFn",
    "Result",
    "Run",
    "RunError",
    "RunStatus",
    "Services",
    "Session",
    "Severity",
    "SignatureScheme",
    "Status",
    "StepContext",
    "StepProblem",
    "StepType",
    "Target",
    "TicketStatus",
    "ToolPack",
    "ToolUse",
    "Tools",
    "TraceError",
    "TraceEvent",
    "Transport",
    "Undecided",
    "UsageError",
]
