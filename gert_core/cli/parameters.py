"""How every command is spelled; written by docs/generate.py from the commands' Typer declarations."""

from __future__ import annotations

from typing import Final, TypeAlias

Parameter: TypeAlias = tuple[str, tuple[str, ...], str, bool, bool, int | None, int | None]
"""Name, spellings (none: an argument), type, whether it takes many values, whether it is required, least, most."""

# fmt: off
PARAMETERS: Final[dict[str, tuple[Parameter, ...]]] = {
    "validate": (
        ("ctx", (), "context", False, False, None, None),
        ("files", (), "path", True, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
        ("sarif", ("--sarif",), "path", False, False, None, None),
        ("strict", ("--strict",), "flag", False, False, None, None),
    ),
    "exec": (
        ("ctx", (), "context", False, False, None, None),
        ("file", (), "path", False, True, None, None),
        ("var", ("--var",), "text", True, False, None, None),
        ("input_file", ("--input",), "path", True, False, None, None),
        ("mode", ("--mode",), "text", False, False, None, None),
        ("scenario", ("--scenario",), "text", False, False, None, None),
        ("keep", ("--keep",), "flag", False, False, None, None),
        ("trace", ("--trace",), "path", False, False, None, None),
        ("trace_sync", ("--trace-sync",), "text", False, False, None, None),
        ("actor", ("--as",), "text", False, False, None, None),
        ("policy", ("--policy",), "path", True, False, None, None),
        ("approval", ("--approval",), "text", False, False, None, None),
        ("questions", ("--questions",), "text", False, False, None, None),
        ("no_input", ("--no-input",), "flag", False, False, None, None),
        ("probe_allow_effects", ("--probe-allow-effects",), "text", False, False, None, None),
        ("pending_exit_code", ("--pending-exit-code",), "int", False, False, None, None),
        ("no_preflight", ("--no-preflight",), "flag", False, False, None, None),
        ("floor", ("--floor",), "flag", False, False, None, None),
        ("fail_on", ("--fail-on",), "text", False, False, None, None),
        ("verbose", ("--verbose", "-v"), "flag", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "test": (
        ("ctx", (), "context", False, False, None, None),
        ("files", (), "path", True, True, None, None),
        ("scenario", ("--scenario",), "text", True, False, None, None),
        ("tag", ("--tag",), "text", True, False, None, None),
        ("everything", ("--all",), "flag", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
        ("junit", ("--junit",), "path", False, False, None, None),
        ("fail_fast", ("--fail-fast",), "flag", False, False, None, None),
        ("timeout", ("--timeout",), "text", False, False, None, None),
        ("floor", ("--floor",), "flag", False, False, None, None),
        ("jobs", ("-j", "--jobs"), "int", False, False, None, None),
    ),
    "resume": (
        ("ctx", (), "context", False, False, None, None),
        ("run_id", (), "text", False, False, None, None),
        ("run", ("--run",), "text", False, False, None, None),
        ("ticket", ("--ticket",), "text", False, False, None, None),
        ("retry_failed", ("--retry-failed",), "flag", False, False, None, None),
        ("reconcile", ("--reconcile",), "text", True, False, None, None),
        ("outputs", ("--outputs",), "text", False, False, None, None),
        ("yes", ("--yes",), "flag", False, False, None, None),
        ("abort", ("--abort",), "flag", False, False, None, None),
        ("on_drift", ("--on-drift",), "text", False, False, None, None),
        ("var", ("--var",), "text", True, False, None, None),
        ("input_file", ("--input",), "path", True, False, None, None),
        ("actor", ("--as",), "text", False, False, None, None),
        ("approval", ("--approval",), "text", False, False, None, None),
        ("questions", ("--questions",), "text", False, False, None, None),
        ("no_input", ("--no-input",), "flag", False, False, None, None),
        ("no_preflight", ("--no-preflight",), "flag", False, False, None, None),
        ("pending_exit_code", ("--pending-exit-code",), "int", False, False, None, None),
        ("fail_on", ("--fail-on",), "text", False, False, None, None),
        ("verbose", ("--verbose", "-v"), "flag", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "answer": (
        ("ctx", (), "context", False, False, None, None),
        ("run_id", (), "text", False, True, None, None),
        ("step_key", (), "text", False, True, None, None),
        ("values", (), "text", True, False, None, None),
        ("reject", ("--reject",), "text", False, False, None, None),
        ("as_", ("--as",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "approve": (
        ("ctx", (), "context", False, False, None, None),
        ("ticket", (), "text", False, True, None, None),
        ("as_", ("--as",), "text", False, False, None, None),
        ("reason", ("--reason",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "reject": (
        ("ctx", (), "context", False, False, None, None),
        ("ticket", (), "text", False, True, None, None),
        ("as_", ("--as",), "text", False, False, None, None),
        ("reason", ("--reason",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "approvals list": (
        ("ctx", (), "context", False, False, None, None),
        ("everything", ("--all",), "flag", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "approvals show": (
        ("ctx", (), "context", False, False, None, None),
        ("ticket", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs list": (
        ("json", ("--json",), "flag", False, False, None, None),
        ("ids", ("--ids",), "flag", False, False, None, None),
        ("limit", ("--limit", "-n"), "int", False, False, 1, None),
        ("active", ("--active",), "flag", False, False, None, None),
        ("status", ("--status",), "text", False, False, None, None),
        ("runbook", ("--runbook",), "text", False, False, None, None),
        ("outcome", ("--outcome",), "text", False, False, None, None),
        ("tenant", ("--tenant",), "text", False, False, None, None),
        ("since", ("--since",), "text", False, False, None, None),
        ("mode", ("--mode",), "text", False, False, None, None),
    ),
    "runs artifacts": (
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs logs": (
        ("run_id", (), "text", False, True, None, None),
        ("step", (), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs show": (
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs status": (
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs tail": (
        ("run_id", (), "text", False, True, None, None),
        ("since_seq", ("--since-seq",), "int", False, False, 0, None),
        ("limit", ("--limit", "-n"), "int", False, False, 1, None),
        ("follow", ("--follow", "-f"), "flag", False, False, None, None),
        ("through_suspend", ("--through-suspend",), "flag", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs verify-ledger": (
        ("ctx", (), "context", False, False, None, None),
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs summaries": (
        ("run_id", (), "text", False, True, None, None),
        ("type", ("--type",), "text", False, False, None, None),
        ("limit", ("--limit", "-n"), "int", False, False, 1, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs resume-point": (
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "runs lease": (
        ("run_id", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "trace verify": (
        ("ctx", (), "context", False, False, None, None),
        ("file", (), "path", False, True, None, None),
        ("key_id", ("--key-id",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "trace show": (
        ("file", (), "path", False, True, None, None),
        ("step", ("--step",), "text", False, False, None, None),
        ("type", ("--type",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "policy explain": (
        ("ctx", (), "context", False, False, None, None),
        ("runbook", (), "path", False, True, None, None),
        ("policy", ("--policy",), "path", True, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "keys new": (
        ("ctx", (), "context", False, False, None, None),
        ("key_id", (), "text", False, True, None, None),
        ("use", ("--for",), "text", False, False, None, None),
        ("algorithm", ("--algorithm",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "keys show": (
        ("ctx", (), "context", False, False, None, None),
        ("use", ("--for",), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "plugins list": (
        ("ctx", (), "context", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "plugins show": (
        ("ctx", (), "context", False, False, None, None),
        ("name", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "plugins why": (
        ("ctx", (), "context", False, False, None, None),
        ("what", (), "text", False, True, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "doctor": (
        ("ctx", (), "context", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "schema": (
        ("ctx", (), "context", False, False, None, None),
        ("kind", (), "text", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "init": (
        ("directory", (), "path", False, False, None, None),
        ("json", ("--json",), "flag", False, False, None, None),
    ),
    "new runbook": (
        ("name", (), "text", False, True, None, None),
    ),
    "new tool": (
        ("name", (), "text", False, True, None, None),
    ),
    "new scenario": (
        ("ctx", (), "context", False, False, None, None),
        ("name", (), "text", False, True, None, None),
        ("book", ("--runbook",), "path", False, False, None, None),
    ),
    "new plugin": (
        ("name", (), "text", False, True, None, None),
    ),
    "completion": (
        ("shell", (), "text", False, False, None, None),
        ("values", ("--values",), "text", False, False, None, None),
        ("of", ("--of",), "path", False, False, None, None),
    ),
}

__all__ = ["PARAMETERS", "Parameter"]
