"""What a run may do over its processes, by the rules for approvals alone: nothing here asks the engine.

A step that needs an approval, then or now, acts once for each answer that approved exactly that, and never after a
rejection or a denial of it. In the documents of the start nothing acts behind an approval that is not given; in others,
nothing but what was itself approved. What an approval step opened stays closed in other documents than it was approved
with, until it is approved with these.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsettled_books import BOOK, POLICY, Documents, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsettled_lives import Life, Process

_SEGMENT = re.compile(r"([^#\[]+)(?:#(\d+))?(?:\[(\d+)\])?")
_RANK = {"allow": 0, "require-approval": 1, "deny": 2}


@dataclass
class Gate:
    """A step that was asked about or denied."""

    process: int
    state: str
    ticket: str = ""
    tolerated: bool = False


class Oracle:
    """Goes through a life in the order in which things happened."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.events = life.events()
        self.gates: dict[str, Gate] = {}
        self.used: dict[str, int] = {}
        self.passed: dict[str, tuple[int, Documents]] = {}
        """Approval steps that were approved: when each was asked for first, and the documents of its last approval."""
        self.asked: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.denied_first = False
        """Whether the run ended before its first step, because one of them is denied."""

    def check(self) -> None:
        """Raise for the first effect that must not have been."""
        keys = {hashlib.sha256(f"{self.life.run_id}\n{k}".encode()).hexdigest(): k for k in self._keys()}
        for number, process in enumerate(self.life.processes):
            later = self.life.processes[number + 1 : number + 2]
            window = self.events[process.first : later[0].first if later else None]
            acts = [(keys[effect["key"]], effect) for effect in process.effects]
            for event in window:
                self._event(event, number, process)
                if event["type"] in ("step_start", "step_attempt"):
                    found = next((one for one in acts if one[0] == event["step_key"]), None)
                    if found is not None:
                        acts.remove(found)
                        self._effect(*found, number, process)
            for key, effect in acts:  # continued without another event
                self._effect(key, effect, number, process)

    def _keys(self) -> set[str]:
        return {event["step_key"] for event in self.events if event.get("step_key")}

    def _changed(self, process: Process) -> bool:
        return process.documents != self.life.documents

    def _event(self, event: dict[str, Any], number: int, process: Process) -> None:
        key, data, kind = event.get("step_key"), event["data"], event["type"]
        if kind == "run_complete" and (data.get("failure") or {}).get("kind") == "governance_denied":
            self.denied_first = self.denied_first or not self.gates
        if kind == "run_resumed" and not self._changed(process):
            for void in data.get("void") or ():
                if void in self.gates and self.gates[void].state != "rejected":
                    del self.gates[void]
        if kind == "governance_decision" and data["decision"] != "allow":
            state = "denied" if data["decision"] == "deny" else "open"
            if key not in self.gates or state == "denied":
                self.gates[key] = Gate(number, state)
        elif kind == "approval_submitted":
            self.gates[key] = Gate(self.gates[key].process if key in self.gates else number, "open", data["ticket_id"])
            self.asked.setdefault(key, event["seq"])
        elif kind == "approval_resolved":
            gate = self.gates[key]
            assert gate.ticket == data["ticket_id"], f"{key}: resolved by another ticket"
            gate.state = "approved" if data["approved"] else "rejected"
            given = process.approved if data["approved"] else process.rejected
            if data["approved"] and find(process.documents, key, "approval") is not None:
                self.passed[key] = (self.asked[key], process.documents)
            assert data["ticket_id"] in given or data["status"] not in ("approved", "rejected"), f"{key}: not answered"
        elif kind == "step_start":
            self.started.setdefault(key, event["seq"])
        elif kind == "step_complete" and key in self.gates and self.gates[key].state == "rejected":
            step = find(process.documents, key)
            fails = step is not None and step["type"] == "approval" and step.get("on_reject") == "fail"
            if fails and not self._changed(process) and data["status"] == "failed":
                self.gates[key].tolerated = True

    def _effect(self, key: str, effect: dict[str, Any], number: int, process: Process) -> None:
        told = f"process {number + 1} of {len(self.life.processes)}: {key} acted ({effect['tool']} {effect['inputs']})"
        own = self.gates.get(key)
        today = decision(process.documents, effect["tool"])
        assert today != "deny", f"{told}, which the policies deny"
        if own is not None:
            assert own.state in ("approved",), f"{told}, whose approval is {own.state}"
        if own is not None or today == "require-approval":
            self._serve(key, effect, process, told)
        changed = self._changed(process)
        assert not (changed and self.denied_first), f"{told} after the denial of the run"
        for gate, found in self.gates.items():
            if gate == key or found.state == "approved":
                continue
            if gate in self.passed and self.started[key] < self.asked[gate]:  # it did not open what began before
                continue
            if changed and found.process < number and own is None:  # what was approved itself may stand beside it
                raise AssertionError(f"{told} in changed documents, while {gate} is {found.state}")
            if found.tolerated:  # the documents of the start say what follows on a rejection
                continue
            assert not in_front(process.documents, gate, key), f"{told} behind {gate}, which is {found.state}"
        for gate, (asked, documents) in self.passed.items():
            if documents == process.documents or self.started[key] < asked:
                continue
            assert own is not None, f"{told} behind {gate}, which was approved with other documents"

    def _serve(self, key: str, effect: dict[str, Any], process: Process, told: str) -> None:
        """Find the answer that approved exactly this, and use it."""
        why = []
        for ticket, (shown, asked) in self.life.tickets.items():
            if shown["step_key"] != key or ticket not in process.approved:
                continue
            same = (
                shown["inputs"] == effect["inputs"]
                and shown["command"]["method"] == effect["method"]
                and shown["shown"]["command"][0] == effect["tool"]
                and self.life.processes[asked].documents == process.documents  # all of them, wherever they are used
            )
            died = any(one.killed for one in self.life.processes) and effect["tool"] == "gentle"
            if same and (died or not self.used.get(ticket)):
                self.used[ticket] = self.used.get(ticket, 0) + 1
                return
            why.append(f"{ticket}: {'used' if same else 'for something else'}")
        raise AssertionError(f"{told} without an approval: {why}")


def decision(documents: Documents, tool: str) -> str:
    """What the policies of these documents say about a tool."""
    effects = documents[f"tools/{tool}.tool.yaml"]["contract"]["effects"]
    found = ["allow"]
    for holder in (documents[POLICY], documents[BOOK]["meta"].get("governance", {})):
        matching = (rule["action"] for rule in holder.get("rules", ()) if set(rule["effects"]) & set(effects))
        found.append(next(matching, "allow"))
    return max(found, key=_RANK.__getitem__)


def blocks(documents: Documents, step: Step) -> list[list[Step]]:
    """The lists of a step by the numbers in keys; those of a loop are the same list each time."""
    if step["type"] == "block":
        return [step["steps"], step.get("on_failure", []), step.get("finally", [])]
    if step["type"] in ("branch", "parallel"):
        return [one["steps"] for one in step["branches"]]
    if step["type"] == "dag":
        return [one["steps"] for one in step["nodes"]]
    if step["type"] == "repeat":
        return [step["steps"]] * 9
    return [documents[step["runbook"]]["steps"]] if step["type"] == "runbook" else []


def _walk(documents: Documents, segments: list[str]) -> Iterator[tuple[list[Step], Step | None]]:
    """Yield for each segment the list that it is in and the step around or of it; stop where it leads nowhere."""
    steps, step = documents[BOOK]["steps"], None
    for segment in segments:
        if segment == "@finally":
            steps = documents[BOOK].get("finally", [])
            yield steps, None
        elif segment.isdigit() and step is not None:
            lists = blocks(documents, step)
            if int(segment) >= len(lists):
                return
            yield steps, step
            steps = lists[int(segment)]
        else:
            match = _SEGMENT.fullmatch(segment)
            name = match[1] if match else ""
            step = next((one for one in steps if one["id"] == name), None)
            if step is None:
                return
            yield steps, step


def find(documents: Documents, key: str, kind: str = "") -> Step | None:
    """The step that a key names in these documents, if it is of that type."""
    segments = key.split("/")
    found = list(_walk(documents, segments))
    step = found[-1][1] if len(found) == len(segments) else None
    return step if step is None or not kind or step["type"] == kind else None


def in_front(documents: Documents, gate: str, key: str) -> bool:
    """Whether one step stands in front of another one in these documents, cleanup aside."""
    one, two = gate.split("/"), key.split("/")
    at = next((n for n, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), None)
    if at is None or find(documents, gate) is None or find(documents, key) is None:
        return False
    steps, step = list(_walk(documents, one))[at]
    if one[at] == "@finally" or two[at] == "@finally":
        return False
    if one[at].isdigit():
        assert step is not None
        first, second = int(one[at]), int(two[at])
        if step["type"] == "dag":
            return _depends(step["nodes"], second, first)
        return step["type"] == "repeat" and first < second
    mine, other = _SEGMENT.fullmatch(one[at]), _SEGMENT.fullmatch(two[at])
    assert mine is not None
    assert other is not None
    visits = int(mine[2] or 1), int(other[2] or 1)
    if mine[1] != other[1]:
        names = [found["id"] for found in steps]
        return visits[1] >= visits[0] and names.index(mine[1]) < names.index(other[1])
    if visits[0] != visits[1]:
        return visits[0] < visits[1]
    assert step is not None
    together = step.get("for_each", {}).get("parallel", False)
    return not together and int(mine[3] or 0) < int(other[3] or 0)


def _depends(nodes: list[dict[str, Any]], node: int, on: int) -> bool:
    names = [one["name"] for one in nodes]
    wanted = nodes[node]["depends_on"]
    return names[on] in wanted or any(_depends(nodes, names.index(one), on) for one in wanted)


__all__ = ["Oracle", "blocks", "decision", "find", "in_front"]
