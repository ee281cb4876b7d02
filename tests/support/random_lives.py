"""Random runbooks over tools of the lab, with approvals, and runs of them through every suspension to their ends."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lab import tool

from gert_core.api import ApprovalResponse
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun

if TYPE_CHECKING:
    from lab import Lab

TOOLS = (
    tool("read", outputs="{ r: { type: any, required: false } }")
    | tool("wdisk", writes="disk", outputs="{ d: { type: any, required: false } }")
    | tool("wnet", writes="net", reads="disk", outputs="{ n: { type: any, required: false } }")
)
GATE = "governance: { rules: [ { writes: [net], action: require-approval } ] }"


class Maker:
    """Makes a valid runbook: every step has a scope of its own, so that branches cannot clash."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        self.lists: set[str] = set()

    def name(self) -> str:
        self.number += 1
        return f"s{self.number}"

    def steps(self, depth: int, indent: str, *, top: bool = False) -> list[str]:
        out: list[str] = []
        ids: list[str] = []
        for _ in range(self.random.randint(1, 4 if top else 3)):
            kind = self.random.choice(["leaf"] * 5 + (["branch", "parallel", "repeat", "loop"] if depth else []))
            name = self.name()
            ids.append(name)
            out += getattr(self, kind)(name, depth, indent, ids)
        return out

    def guard(self) -> str:
        return self.random.choice(["", "", "", ', when: "{{ gt (len .run.id) 0 }}"', ", when: false"])

    def leaf(self, name: str, depth: int, indent: str, ids: list[str]) -> list[str]:
        which, output = self.random.choice([("read", "r"), ("read", "r"), ("wdisk", "d"), ("wnet", "n")])
        more = self.guard()
        if ids[0] != name and self.random.random() < 0.06:
            guard = self.random.choice(["", ", when: false"])
            return [f"{indent}- {{ id: {name}, type: end, outcome: {{ category: resolved, code: {name} }}{guard} }}"]
        looping = self.random.random() < 0.2
        if looping:
            self.lists.add(name)
        if self.random.random() < 0.15:
            more += self.random.choice([", continue_on_fail: true"] * 4 + [""])
            given = f"{{ exit: 1, outputs: {{ {output}: {name} }} }}"
        else:
            counted = [known for known in ids if known not in self.lists]
            text = f"{{{{ .{self.random.choice(counted)}.retry_count }}}}" if counted else "alone"
            given = f'{{ outputs: {{ {output}: "{name} {text}" }} }}'
        if self.random.random() < 0.2:
            more += f", next: {{ step: {self.random.choice(ids)}, max: {self.random.randint(1, 2)} }}"
        if looping:
            parallel = self.random.choice(["true", "false"])
            more += f', for_each: {{ as: it, over: [x, y, z], key: "{{{{ .it }}}}", parallel: {parallel} }}'
        return [f"{indent}- {{ id: {name}, type: tool, tool: {which}, scope: at/{name}, inputs: {given}{more} }}"]

    def branch(self, name: str, depth: int, indent: str, ids: list[str]) -> list[str]:
        out = [f"{indent}- id: {name}", f"{indent}  type: branch", f"{indent}  branches:"]
        for condition in (self.random.choice(["true", "false"]), "default"):
            out += [f"{indent}    - condition: {condition}", f"{indent}      steps:"]
            out += self.steps(depth - 1, indent + "        ")
        return out

    def parallel(self, name: str, depth: int, indent: str, ids: list[str]) -> list[str]:
        out = [f"{indent}- id: {name}", f"{indent}  type: parallel", f"{indent}  branches:"]
        for _ in range(self.random.randint(2, 3)):
            out += [f"{indent}    - steps:", *self.steps(depth - 1, indent + "        ")]
        return out

    def repeat(self, name: str, depth: int, indent: str, ids: list[str]) -> list[str]:
        most = self.random.randint(1, 3)
        out = [
            f"{indent}- id: {name}",
            f"{indent}  type: repeat",
            f"{indent}  repeat: {{ max: {most}, until: '{{{{ ge .repeat.index 1 }}}}' }}",
        ]
        return [*out, f"{indent}  steps:", *self.steps(depth - 1, indent + "    ")]

    def loop(self, name: str, depth: int, indent: str, ids: list[str]) -> list[str]:
        self.lists.add(name)
        parallel = self.random.choice(["true", "false"])
        out = [
            f"{indent}- id: {name}",
            f"{indent}  type: branch",
            f"{indent}  for_each: {{ as: o{self.number}, over: [1, 2], parallel: {parallel} }}",
        ]
        out += [f"{indent}  branches:", f"{indent}    - condition: default", f"{indent}      steps:"]
        return [*out, *self.steps(depth - 1, indent + "        ")]


class Life:
    """Runs a runbook to its end through every suspension, answering all tickets in between.

    ``rejects`` is how likely an answer is a rejection.
    """

    def __init__(self, lab: Lab, *, rejects: float = 0.0, seed: int = 0) -> None:
        self.lab = lab
        self.rejects = rejects
        self.random = random.Random(seed)

    def approve(self, ran) -> None:
        store = TicketStore(DirectoryRun(ran.result.trace.parent))
        for ticket in ran.result.pending:
            now, approved = datetime.now(UTC).isoformat(), self.random.random() >= self.rejects
            store.answer(
                ApprovalResponse(
                    ticket_id=ticket["ticket_id"], approved=approved, approver_id="al", method="inbox", timestamp=now
                )
            )

    def to_the_end(self, ran):
        for _ in range(60):
            if ran.status != "approval_pending":
                return ran
            self.approve(ran)
            ran = self.lab.runner.resume(ran.result.run_id)
        raise AssertionError("it never ends")


__all__ = ["GATE", "TOOLS", "Life", "Maker"]
