"""What a screen knows of one run: its steps, output, questions and tickets, folded from what the host tells."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.events import EventType
from gert_tui.model.output import OutputLines
from gert_tui.model.steps import StepTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.hosting import Notice
    from gert_core.hosting.steps import Graph
    from gert_tui.model.steps import ShownStep

_SHORT: Final = 60
"""The longest value of an event that stands in its line."""
_NOT_BEGUN: Final = ("cancelled", "not_started")
"""Reasons of attempts that are over, or that never began."""
_FAILED: Final = ("failed", "error", "denied")
_SILENT: Final = (
    EventType.RUN_START,
    EventType.TIME_READ,
    EventType.TOOL_CALL,
    EventType.FOR_EACH_START,
    EventType.FOR_EACH_ITEM,
    EventType.CONTRACT_EVALUATED,
    EventType.REDACTION_APPLIED,
    EventType.VISIBILITY_APPLIED,
    EventType.SCOPE_EXPORT,
    EventType.RUN_SUMMARY,
)


class RunModel:
    """One run as it is shown; ``take`` is given its notices in order."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.steps = StepTree(graph)
        self.output = OutputLines()
        self.events: list[Mapping[str, Any]] = []
        self.questions: dict[str, Mapping[str, Any]] = {}
        """Open questions that can be answered here, by their ids."""
        self.asked: dict[str, list[str]] = {}
        """What steps ask, in whichever process, by step key."""
        self.tickets: dict[str, Mapping[str, Any]] = {}
        self.facts: Mapping[str, Any] = {}
        self.inputs: dict[str, Mapping[str, Any]] = {}
        self.current = ""
        """The key of the leaf that began last, or waits."""
        self.status = ""
        self.done = self.failed = self.skipped = 0
        self.running: dict[str, None] = {}
        self._heard: set[str] = set()
        """The steps whose present attempt is heard while it runs."""
        self.started = self.finished = ""
        self.outcome: Mapping[str, Any] | None = None
        self.end: Mapping[str, Any] | None = None
        """The data of the notice ``end``: the result, or an error."""

    @property
    def risk(self) -> str:
        """The risk of the step that is shown as the current one."""
        step = self.steps.find(self.current)
        return "" if step is None else step.risk

    @property
    def waiting(self) -> int:
        """How many people are waited for: open tickets, and steps that ask."""
        return len(self.tickets) + len(self.asked)

    def take(self, notice: Notice) -> None:
        """Take the next thing that happened."""
        key, data = notice.step_key or "", notice.data
        if notice.kind == "event":
            self._event(data)
        elif notice.kind == "command":
            self._heard.add(key)
            self.output.note(key, f"$ {shlex.join(map(str, data['command']))}" if data["command"] else data["tool"])
        elif notice.kind == "output":
            self._heard.add(key)
            self.output.add(key, str(data["stream"]), str(data["text"]))
        elif notice.kind == "loop":
            self.steps.at(key).loop = data
        elif notice.kind == "question":
            self.questions[str(data["question_id"])] = {**data, "step_key": key}
            self._tell(key, str(data.get("instructions") or data.get("title") or ""))
            self._waits(key)
        elif notice.kind == "answered":
            self.questions.pop(str(data["question_id"]), None)
            self._goes_on(key)
        elif notice.kind == "warning":
            self.output.note(key, f"warning: {data['message']}")
        elif notice.kind == "arm":
            self.output.note(key, f"[{data['name']}: {data['why']}]")
        elif notice.kind == "end":
            self._ended(data)

    def _event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)
        kind, key = str(event["type"]), str(event.get("step_key") or "")
        data: Mapping[str, Any] = event.get("data") or {}
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, key, data, str(event.get("timestamp") or ""))
        elif kind not in _SILENT and key:
            self.output.note(key, f"[{kind}{_scalars(data)}]")

    def _start(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.facts, self.status, self.started = data, "running", self.started or time

    def _resumed(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.status, self.finished, self.end, self.outcome = "running", "", None, None
        self._stand_still()

    def _input(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.inputs[str(data.get("input"))] = data

    def _decided(self, key: str, data: Mapping[str, Any], time: str) -> None:
        step = self.steps.at(key, step_id=str(data.get("step_id") or ""))
        step.risk = str(data.get("risk_level") or "")
        if data.get("decision") == "deny":
            self.output.note(key, f"denied: {data.get('reason')}")

    def _began(self, key: str, data: Mapping[str, Any], time: str) -> None:
        step = self.steps.at(key, step_id=str(data.get("step_id") or ""), type_=str(data.get("type") or ""))
        again = step.status in _FAILED
        self.failed -= again
        step.status, step.since, step.duration = "again" if again else "running", time, ""
        if "contract_summary" in data:  # a leaf; steps with blocks and loops have none
            self.running[key] = None
            self.current = key
            self._open_around(step)

    def _attempt(self, key: str, data: Mapping[str, Any], time: str) -> None:
        step, reason = self.steps.at(key), str(data.get("reason") or "")
        if reason in _NOT_BEGUN:  # it says of an attempt that nothing runs any more
            step.status = "open"
            self.running.pop(key, None)
            self._show_detail(key, data.get("detail") or {})
            return
        step.attempt = int(data.get("attempt") or step.attempt + 1)
        step.status, step.since, self.current = "again", time, key
        self.running[key] = None
        self._open_around(step)
        self.output.note(
            key, f"attempt {step.attempt}{_scalars({'after': data.get('error')} if data.get('error') else {})}"
        )

    def _completed(self, key: str, data: Mapping[str, Any], time: str) -> None:
        step = self.steps.at(key, step_id=str(data.get("step_id") or ""))
        leaf = key in self.running or not step.container
        if leaf and step.status not in ("", "open", "running", "again", "waiting"):  # it was counted before
            leaf = False
        step.status, step.duration = str(data.get("status") or "success"), str(data.get("duration") or "")
        step.outputs = data.get("outputs") or {}
        self.running.pop(key, None)
        self.asked.pop(key, None)
        if leaf and "items" not in data:
            self.failed += step.status in _FAILED
            self.skipped += step.status == "skipped"
            self.done += step.status not in (*_FAILED, "skipped")
        self._show_detail(key, data.get("detail") or {})
        if failure := data.get("failure") or data.get("error"):
            told = failure.get("message") if isinstance(failure, dict) else failure
            self.output.note(key, f"failed: {told}")
        if self.current == key and self.running:
            self.current = next(reversed(self.running))

    def _show_detail(self, key: str, detail: Mapping[str, Any]) -> None:
        """Show what a step wrote that was not shown while it ran: another process executed it, or it is over."""
        if key in self._heard:
            self._heard.discard(key)
            return
        if detail.get("command"):
            self.output.note(key, f"$ {shlex.join(map(str, detail['command']))}")
        for stream in ("stdout", "stderr"):
            if text := str(detail.get(stream) or ""):
                self.output.add(key, stream, text if text.endswith("\n") else f"{text}\n")

    def _submitted(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.tickets[str(data.get("ticket_id"))] = {**data, "step_key": key}
        self.output.note(key, f"approval needed: ticket {data.get('ticket_id')}, risk {data.get('risk_level')}")
        self._waits(key)

    def _responded(self, key: str, data: Mapping[str, Any], time: str) -> None:
        who = data.get("approver_id")
        why = f": {data['reason']}" if data.get("reason") else ""
        self.output.note(key, f"{'approved' if data.get('approved') else 'rejected'} by {who}{why}")

    def _settled(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.tickets.pop(str(data.get("ticket_id")), None)
        self.output.note(
            key, f"[approval{_scalars({k: data[k] for k in ('decision', 'status', 'reason') if data.get(k)})}]"
        )
        self._goes_on(key)

    def _question(self, key: str, data: Mapping[str, Any], time: str) -> None:
        asked: Mapping[str, Any] = data.get("question") or {}
        self.asked.setdefault(key, []).append(str(asked.get("name") or ""))
        self._tell(key, str(asked.get("instructions") or asked.get("title") or ""))
        self._waits(key)

    def _answered(self, key: str, data: Mapping[str, Any], time: str) -> None:
        names = self.asked.get(key, [])
        if str(data.get("name") or "") in names:
            names.remove(str(data.get("name") or ""))
        if not names:
            self.asked.pop(key, None)
        self._goes_on(key)

    def _suspended(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.status = str(data.get("status") or data.get("reason") or "suspended")
        self._stand_still()

    def _complete(self, key: str, data: Mapping[str, Any], time: str) -> None:
        self.status, self.finished = str(data.get("status") or ""), time
        self.outcome = data.get("outcome")
        self._stand_still()
        self.tickets.clear()
        self.asked.clear()

    def _open_around(self, step: ShownStep) -> None:
        """Show the steps around one that runs as running: those of a resumed run do not begin again."""
        around = step.parent
        while around is not None:
            if around.status == "open":
                around.status = "running"
            around = around.parent

    def _stand_still(self) -> None:
        """Show no step as running: the process that executed them has stopped."""
        self.running.clear()
        for step in self.steps.every():
            if step.status in ("running", "again"):
                step.status = "open"

    def _tell(self, key: str, instructions: str) -> None:
        """Show what a step asks a person to do, once for all of its questions."""
        shown = {line.text for line in self.output.of(key)}
        for line in instructions.splitlines() if not shown & set(instructions.splitlines()) else ():
            self.output.note(key, line)

    def _waits(self, key: str) -> None:
        step = self.steps.at(key) if key else None
        if step is not None:
            step.status, self.current = "waiting", key

    def _goes_on(self, key: str) -> None:
        step = self.steps.find(key)
        if step is not None and step.status == "waiting":
            step.status = "running" if key in self.running else "open"

    def _ended(self, data: Mapping[str, Any]) -> None:
        self.end = data
        self.finished = self.finished or (str(self.events[-1].get("timestamp") or "") if self.events else "")
        self.questions.clear()
        self._stand_still()
        result = data.get("result") or {}
        self.status = str(result.get("status") or ("error" if "error" in data else self.status))
        self.outcome = result.get("outcome") or self.outcome
        for failure in result.get("failures") or ():  # one that was not approved has not been executed: it is skipped
            step = self.steps.find(str(failure.get("step_key") or ""))
            if step is not None and step.status == "skipped":
                step.status = "failed"
                self.failed, self.skipped = self.failed + 1, self.skipped - 1


def _scalars(data: Mapping[str, Any]) -> str:
    """Return the simple values of an event, for a line."""
    shown = [
        f" {name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in data.items()
        if isinstance(value, str | int | bool) and len(str(value)) <= _SHORT and not name.endswith("_hash")
    ]
    return "".join(shown)


_HANDLERS: Final[dict[str, Callable[[RunModel, str, Mapping[str, Any], str], None]]] = {
    EventType.RUN_START: RunModel._start,
    EventType.RUN_RESUMED: RunModel._resumed,
    EventType.RUN_SUSPENDED: RunModel._suspended,
    EventType.RUN_COMPLETE: RunModel._complete,
    EventType.INPUT_RESOLVED: RunModel._input,
    EventType.GOVERNANCE_DECISION: RunModel._decided,
    EventType.STEP_START: RunModel._began,
    EventType.STEP_ATTEMPT: RunModel._attempt,
    EventType.STEP_COMPLETE: RunModel._completed,
    EventType.APPROVAL_SUBMITTED: RunModel._submitted,
    EventType.APPROVAL_RESPONSE: RunModel._responded,
    EventType.APPROVAL_RESOLVED: RunModel._settled,
    EventType.APPROVAL_VOID: RunModel._settled,
    EventType.QUESTION_ASKED: RunModel._question,
    EventType.QUESTION_ANSWERED: RunModel._answered,
}
"""What is done with each type of event."""

__all__ = ["RunModel"]
