"""A project whose approvals are asked for in a messenger: whole runs of real processes, people and a bridge's key."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from people import pair
from shell import Shell

from gert_core.hosting import Host

if TYPE_CHECKING:
    from pathlib import Path

BRIDGE, BRIDGE_PUBLIC = pair(7)
CALLBACKS = "hmac-sha256:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
REQUESTS = "hmac-sha256:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
TOOL = """
apiVersion: tool/v0
meta: { name: change, transport: stdio }
contract: { effects: [network], writes: [service], inputs: { what: { type: any } } }
actions: { do: { argv: ["change", "{{ .what }}"] } }
"""


class Messaging(Shell):
    """A directory with a runbook that changes a service, once somebody has approved it."""

    def __init__(self, root: Path, provider: str, config: dict[str, Any], people: dict[str, Any]) -> None:
        super().__init__(root)
        self.people = deepcopy(people)
        self.provider = provider
        self.config = config
        self.secrets: dict[str, str] = {}
        """What only programs that take answers have."""
        self.program("change", 'echo "$1" >> changed')
        self.write("tools/change.tool.yaml", TOOL)
        self.runbook("disk")
        self.settle()

    def runbook(self, what: str) -> None:
        self.book(f"- {{ id: fix, type: tool, tool: change, inputs: {{ what: {json.dumps(what)} }} }}", tools="change")

    def settle(self, *, rule: dict[str, Any] | None = None, **policy: Any) -> None:
        """Write the project and its policy."""
        document = {
            "apiVersion": "policy/v0",
            "meta": {"name": "house"},
            "rules": [{"writes": ["service"], "action": "require-approval", "exclude_actor": True, **(rule or {})}],
            "people": self.people,
            "require_signed_approvals": True,
            "bridges": {name: {"keys": [BRIDGE_PUBLIC]} for name in ("slack", "http", "web")},
            **policy,
        }
        self.write("house.yaml", json.dumps(document))
        approvals = {"provider": self.provider, "config": self.config}
        self.write("gert-project.yaml", json.dumps({"name": "lab", "policies": ["house.yaml"], "approvals": approvals}))

    def execute(self, **options: Any) -> dict[str, Any]:
        """Start a run in a process of its own; it is suspended with an open ticket."""
        found = self.json("exec", "book.yaml", code=None, **options)
        assert found.get("status") == "approval_pending", found
        return found

    def ticket(self) -> str:
        (found,) = self.json("approvals", "list")["approvals"]
        return str(found["ticket_id"])

    def host(self, **options: Any) -> Host:
        """A program that takes answers: it has the bridge's key and the secrets of the app."""
        return Host(self.root, environ={**self.environ, "GERT_BRIDGE_SIGNING_KEY": BRIDGE, **self.secrets}, **options)

    def changed(self) -> bool:
        return (self.root / "changed").exists()

    def sent(self) -> list[dict[str, Any]]:
        """What is kept of messages."""
        return [json.loads(file.read_text()) for file in sorted(self.root.glob("runs/*/tickets/*.sent.json"))]
