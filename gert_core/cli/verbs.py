"""The table of verbs: where each one lives and what it does, so that help imports none of them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, NamedTuple


class Verb(NamedTuple):
    """``target`` is ``"module:attribute"`` of a function, or of a ``Group`` of commands (``gert_core.cli.params``)."""

    target: str
    summary: str


VERBS: Final[dict[str, Verb]] = {
    "validate": Verb("gert_core.cli.commands.validate:validate", "Check runbooks, tools and other documents."),
    "exec": Verb("gert_core.cli.commands.exec:exec_", "Run a runbook."),
    "test": Verb("gert_core.cli.commands.test:run_tests", "Run a runbook's scenarios."),
    "resume": Verb("gert_core.cli.commands.resume:resume", "Go on with a suspended or interrupted run."),
    "approve": Verb("gert_core.cli.commands.approve:approve", "Approve a pending request."),
    "reject": Verb("gert_core.cli.commands.reject:reject", "Reject a pending request."),
    "approvals": Verb("gert_core.cli.commands.approvals:group", "List and show pending requests."),
    "runs": Verb("gert_core.cli.commands.runs:group", "List and show runs."),
    "trace": Verb("gert_core.cli.commands.trace:group", "Verify and show traces."),
    "policy": Verb("gert_core.cli.commands.policy:group", "Show and explain policy decisions."),
    "plugins": Verb("gert_core.cli.commands.plugins:group", "List and explain installed plugins."),
    "schema": Verb("gert_core.cli.commands.schema:schema", "Print a JSON Schema."),
    "init": Verb("gert_core.cli.commands.init:init", "Start a project in a directory."),
    "new": Verb("gert_core.cli.commands.new:group", "Write a new runbook, tool, scenario or plugin."),
    "completion": Verb(
        "gert_core.cli.commands.completion:completion", "Print a script that completes commands in your shell."
    ),
}


def installed() -> dict[str, Verb]:
    """The verbs whose module exists."""
    return {name: verb for name, verb in VERBS.items() if find_spec(verb.target.partition(":")[0])}


__all__ = ["VERBS", "Verb", "installed"]
