"""Random runbooks, crashed and suspended anywhere: every second life ends as the first would have."""

from __future__ import annotations

import os
import random
import shutil
from datetime import UTC, datetime

import pytest
from lab import Lab, tool

from gert_core.api import ApprovalResponse, RunError
from gert_core.engine.resume.plan import RunFinished
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun
from gert_core.trace.verify import verify

SEEDS = range(250 if os.environ.get("GERT_FUZZ") else 4)
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
    """Runs a runbook to its end through every suspension, answering all tickets in between."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def approve(self, ran) -> None:
        store = TicketStore(DirectoryRun(ran.result.trace.parent))
        for ticket in ran.result.pending:
            now = datetime.now(UTC).isoformat()
            store.answer(
                ApprovalResponse(
                    ticket_id=ticket["ticket_id"], approved=True, approver_id="al", method="inbox", timestamp=now
                )
            )

    def to_the_end(self, ran):
        for _ in range(60):
            if ran.status != "approval_pending":
                return ran
            self.approve(ran)
            ran = self.lab.runner.resume(ran.result.run_id)
        raise AssertionError("it never ends")


def told_by(ran):
    """Everything about a run that must not depend on how often it died."""
    failures = [(f.key, f.status, f.kind) for f in ran.result.failures]
    return ran.status, ran.result.outcome, failures, dict(ran.steps), ran.result.variables.names_visible()


@pytest.mark.parametrize("seed", SEEDS)
def test_crashes_and_suspensions_anywhere_change_nothing(tmp_path, seed):
    lab = Lab(tmp_path)
    text = "\n".join(Maker(seed).steps(2, "", top=True))
    life = Life(lab)
    first = lab(text, tools=TOOLS, meta=GATE, approval="inbox", trace_sync="none")
    whole = life.to_the_end(first)
    assert whole.status in ("completed", "failed"), [f.message for f in whole.result.failures]
    expected = told_by(whole)
    effects = sorted(call.key for call in lab.calls)
    home = whole.result.trace.parent
    kept = home.with_name("kept")
    shutil.copytree(home, kept)
    lines = whole.result.trace.read_bytes().splitlines(keepends=True)
    picks = random.Random(seed).sample(range(1, len(lines)), min(len(lines) - 1, 8))
    for count in sorted(picks):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        (home / "state.json").unlink(missing_ok=True)
        whole.result.trace.write_bytes(b"".join(lines[:count]))
        lab.calls.clear()
        try:
            ran = life.to_the_end(lab.runner.resume(whole.result.run_id))
        except RunFinished as finished:
            assert finished.result.status == whole.status  # noqa: PT017 - one of two good ways to end
            continue
        except RunError as error:
            raise AssertionError(f"seed {seed}, crash after event {count}: {error.message}\n{text}") from None
        told = f"seed {seed}, crash after event {count}"
        assert told_by(ran) == expected, told
        assert {call.key for call in lab.calls} <= set(effects), told
        verdict = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told
