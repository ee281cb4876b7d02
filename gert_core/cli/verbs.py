"""The table of commands: what each verb does and where its functions are, so that help imports none of them."""

from __future__ import annotations

from typing import Final

VERBS: Final[dict[str, str]] = {
    "validate": "Check runbooks, tools and other documents.",
    "exec": "Run a runbook.",
    "test": "Run a runbook's scenarios.",
    "diff": "Show what changed for a runbook's scenarios.",
    "scenario": "List, record, promote and prune scenarios.",
    "graph": "Show the steps of a runbook as a graph.",
    "explain": "Explain the steps of a runbook: contract, risk, decision and more.",
    "tools": "List and show the tools that runbooks can use.",
    "resume": "Resume a suspended or interrupted run.",
    "answer": "Answer the questions of a suspended run.",
    "approve": "Approve a pending request.",
    "reject": "Reject a pending request.",
    "approvals": "List, show and comment requests, and make personal links.",
    "runs": "List and show runs.",
    "notify": "List, deliver and drop what runs owe people.",
    "store": "Copy runs to another store, and upgrade a store.",
    "trace": "Verify and show traces.",
    "policy": "Show and explain policy decisions.",
    "keys": "Make and show keys for signing.",
    "plugins": "List and explain installed plugins.",
    "doctor": "Check the installation, the project and its runs.",
    "schema": "Print a JSON Schema.",
    "init": "Start a project in a directory.",
    "new": "Write a new runbook, tool, scenario or plugin.",
    "completion": "Print a script that completes commands in your shell.",
}
"""Every verb with its summary, in the order of the help text."""

COMMANDS: Final[dict[str, str]] = {
    "validate": "gert_core.cli.commands.validate:validate",
    "exec": "gert_core.cli.commands.exec:exec_",
    "test": "gert_core.cli.commands.test:run_tests",
    "diff": "gert_core.cli.commands.diff:diff",
    "scenario list": "gert_core.cli.commands.scenario:list_",
    "scenario new": "gert_core.cli.commands.scenario:new",
    "scenario record": "gert_core.cli.commands.scenario:record",
    "scenario promote": "gert_core.cli.commands.scenario_golden:promote",
    "scenario demote": "gert_core.cli.commands.scenario_golden:demote",
    "scenario prune": "gert_core.cli.commands.scenario_golden:prune",
    "scenario scan": "gert_core.cli.commands.scenario:scan",
    "graph": "gert_core.cli.commands.graph:graph",
    "explain": "gert_core.cli.commands.explain:explain",
    "tools list": "gert_core.cli.commands.tools:list_",
    "tools show": "gert_core.cli.commands.tools:show",
    "resume": "gert_core.cli.commands.resume:resume",
    "answer": "gert_core.cli.commands.answer:answer",
    "approve": "gert_core.cli.commands.approve:approve",
    "reject": "gert_core.cli.commands.reject:reject",
    "approvals list": "gert_core.cli.commands.approvals:list_",
    "approvals show": "gert_core.cli.commands.approvals:show",
    "approvals comment": "gert_core.cli.commands.approvals:comment",
    "approvals link": "gert_core.cli.commands.approvals:link",
    "runs list": "gert_core.cli.commands.runs_list:list_",
    "runs artifacts": "gert_core.cli.commands.runs:artifacts",
    "runs logs": "gert_core.cli.commands.logs:logs",
    "runs progress": "gert_core.cli.commands.progress:progress",
    "runs block": "gert_core.cli.commands.blocking:block",
    "runs unblock": "gert_core.cli.commands.blocking:unblock",
    "runs cancel": "gert_core.cli.commands.runs_cancel:cancel",
    "runs show": "gert_core.cli.commands.runs:show",
    "runs status": "gert_core.cli.commands.runs_status:status",
    "runs tail": "gert_core.cli.commands.runs_tail:tail",
    "runs verify-ledger": "gert_core.cli.commands.verify_ledger:verify_ledger",
    "runs summaries": "gert_core.cli.commands.runs_status:summaries",
    "runs resume-point": "gert_core.cli.commands.runs_status:resume_point",
    "runs lease": "gert_core.cli.commands.runs_status:lease",
    "runs reconcile": "gert_core.cli.commands.runs_reconcile:reconcile",
    "runs export": "gert_core.cli.commands.runs_export:export",
    "runs cleanup": "gert_core.cli.commands.runs_prune:cleanup",
    "runs prune": "gert_core.cli.commands.runs_prune:prune",
    "notify list": "gert_core.cli.commands.notify:list_",
    "notify flush": "gert_core.cli.commands.notify:flush",
    "notify drop": "gert_core.cli.commands.notify:drop",
    "store copy": "gert_core.cli.commands.store:copy",
    "store upgrade": "gert_core.cli.commands.store:upgrade",
    "trace verify": "gert_core.cli.commands.trace:verify_",
    "trace show": "gert_core.cli.commands.trace:show",
    "policy explain": "gert_core.cli.commands.policy:explain_",
    "keys new": "gert_core.cli.commands.keys:new",
    "keys show": "gert_core.cli.commands.keys:show",
    "plugins list": "gert_core.cli.commands.plugins:list_",
    "plugins show": "gert_core.cli.commands.plugins:show",
    "plugins why": "gert_core.cli.commands.plugins:why",
    "doctor": "gert_core.cli.commands.doctor:doctor",
    "schema": "gert_core.cli.commands.schema:schema",
    "init": "gert_core.cli.commands.init:init",
    "new runbook": "gert_core.cli.commands.new:new_runbook",
    "new tool": "gert_core.cli.commands.new:new_tool",
    "new scenario": "gert_core.cli.commands.new:new_scenario",
    "new plugin": "gert_core.cli.commands.new:new_plugin",
    "completion": "gert_core.cli.commands.completion:completion",
}
"""``"module:function"`` of every command, as typed: a verb, or a verb with a command of its own."""

RUNS: Final = frozenset({"exec", "resume", "runs reconcile"})
"""The commands that execute a run; they handle signals themselves."""


def commands_of(verb: str) -> dict[str, str]:
    """Return the commands of a group by name; empty for a verb without commands of its own."""
    return {path.removeprefix(f"{verb} "): target for path, target in COMMANDS.items() if path.startswith(f"{verb} ")}


__all__ = ["COMMANDS", "RUNS", "VERBS", "commands_of"]
