"""The kinds of records that plugins provide, and the naming rule for their distributions."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from gert_core.plugin.discovery import normalise


class RecordKind(Struct, frozen=True, kw_only=True):
    """One hook that returns records: ``word`` is the kind in ``gert-<word>-<name>`` and ``gert plugins why``."""

    word: str
    hook: str
    record: str
    key: str
    label: str
    optional: bool = False
    """Whether a faulty implementation is left out with a warning instead of breaking its plugin."""


STEP: Final = RecordKind(
    word="step", hook="gert_step_types", record="gert_core.api.steps:StepType", key="name", label="step type"
)
TRANSPORT: Final = RecordKind(
    word="transport",
    hook="gert_transports",
    record="gert_core.api.transports:Transport",
    key="name",
    label="transport",
)
APPROVAL: Final = RecordKind(
    word="approval",
    hook="gert_approval_providers",
    record="gert_core.api.approvals:ApprovalProvider",
    key="name",
    label="approval provider",
)
INPUT: Final = RecordKind(
    word="input",
    hook="gert_input_resolvers",
    record="gert_core.api.inputs:InputResolver",
    key="name",
    label="input resolver",
)
SIGNATURE: Final = RecordKind(
    word="signature",
    hook="gert_signature_schemes",
    record="gert_core.api.signatures:SignatureScheme",
    key="algorithm",
    label="signature scheme",
)
TOOLS: Final = RecordKind(
    word="tools", hook="gert_tool_packs", record="gert_core.api.packs:ToolPack", key="name", label="tool pack"
)
STORE: Final = RecordKind(
    word="store", hook="gert_stores", record="gert_core.api.store_records:StoreType", key="name", label="run store"
)
NOTIFIER: Final = RecordKind(
    word="notify",
    hook="gert_notifiers",
    record="gert_core.api.notifiers:Notifier",
    key="name",
    label="notifier",
    optional=True,
)
COMMAND: Final = RecordKind(
    word="command",
    hook="gert_commands",
    record="gert_core.api.commands:Command",
    key="name",
    label="command",
    optional=True,
)

KINDS: Final = (STEP, TRANSPORT, APPROVAL, INPUT, SIGNATURE, TOOLS, STORE, NOTIFIER, COMMAND)

POLICIES_HOOK: Final = "gert_policies"
DIAGNOSTICS_HOOK: Final = "gert_diagnostics"
OBSERVER_HOOK: Final = "gert_trace_event"
CHECKS_HOOK: Final = "gert_checks"


def provider_of(kind: RecordKind, name: str) -> str:
    """Return the distribution that provides ``name`` by the naming rule ``gert-<kind>-<name>``."""
    return normalise(f"gert-{kind.word}-{name}")


__all__ = [
    "APPROVAL",
    "CHECKS_HOOK",
    "COMMAND",
    "DIAGNOSTICS_HOOK",
    "INPUT",
    "KINDS",
    "NOTIFIER",
    "OBSERVER_HOOK",
    "POLICIES_HOOK",
    "SIGNATURE",
    "STEP",
    "STORE",
    "TOOLS",
    "TRANSPORT",
    "RecordKind",
    "provider_of",
]
