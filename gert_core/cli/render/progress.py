"""One line per step on stderr while a run goes on; live elapsed time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import StepStatus
from gert_core.cli.render.terminal import coloured, paint, plain
from gert_core.engine.progress import Progress
from gert_core.engine.signals import Rank

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gert_core.api import ApprovalRequest
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal
    from gert_core.engine.steps.execution import StepExecution

MARKS: Final = {"success": ("✓", "green"), "failed": ("✗", "red"), "error": ("✗", "red"), "skipped": ("○", "dim")}
_TAIL: Final = 8
_TICK: Final = 0.2


class TerminalProgress(Progress):
    """Prints steps as they finish, containers as they begin.

    Everything is masked first and then spelled out, so that nothing shown can steer the terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.mask: Callable[[str], str] = str
        self._lock = threading.RLock()
        self._live = coloured(self._stream)
        self._running: dict[str, tuple[str, float]] = {}
        self._shown = False
        self._held = 0
        self._kept: list[str] = []
        self._closed = False
        self._ticker: threading.Thread | None = None

    # -- the run -------------------------------------------------------------------------------------------------

    def started(self, execution: StepExecution) -> None:
        compiled = execution.compiled
        if not compiled.leaf or (compiled.over is not None and not execution.as_item):
            self._print(f" {_title(execution)}", lead=_indent(execution) + paint("▸", "cyan", stream=self._stream))
        elif self._live:
            with self._lock:
                self._running[execution.key] = (_title(execution), time.monotonic())
                if self._ticker is None:
                    self._ticker = threading.Thread(target=self._tick, name="gert-progress", daemon=True)
                    self._ticker.start()

    def finished(self, execution: StepExecution, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        with self._lock:
            self._running.pop(execution.key, None)
            compiled = execution.compiled
            if not compiled.leaf and status is StepStatus.SUCCESS:
                return
            if compiled.over is not None and not execution.as_item and status is StepStatus.SUCCESS:
                return
            mark, style = MARKS[str(status)]
            lead = _indent(execution) + paint(mark, style, stream=self._stream)
            line = f" {_title(execution)}"
            symbolic = (data.get("detail") or {}).get("symbolic")
            if status is StepStatus.SKIPPED:
                line += f"  skipped ({_reason(data)})"
            elif symbolic and compiled.leaf:
                lead = f"{_indent(execution)}·"
                line += f"  ({symbolic})" if symbolic != execution.run.mode else ""
            else:
                line += f"  {duration:.2f}s"
            self._print(line, lead=lead)
            if status in (StepStatus.FAILED, StepStatus.ERROR) and compiled.leaf:
                self._explain(execution, data)
            elif status is StepStatus.SKIPPED and "approval" in data:
                self._print(f"{_indent(execution)}    {data['approval']['message']}")
            elif status is StepStatus.SKIPPED and data.get("reason") == "governance_denied":
                self._print(f"{_indent(execution)}    {execution.decision.reason}")

    def recalled(self, execution: StepExecution) -> None:
        self._print(f" {_title(execution)}  recorded", lead=_indent(execution) + paint("↺", "dim", stream=self._stream))

    def left(self, execution: StepExecution, signal: Signal) -> None:
        with self._lock:
            self._running.pop(execution.key, None)
            whole = execution.compiled.over is None or execution.as_item
            if execution.compiled.leaf and whole and signal.rank is Rank.CANCELLED:
                lead = _indent(execution) + paint("✗", "red", stream=self._stream)
                self._print(f" {_title(execution)}  cancelled", lead=lead)

    def pending(self, execution: StepExecution, request: ApprovalRequest) -> None:
        with self._lock:
            self._running.pop(execution.key, None)
        self._print(f"{_indent(execution)}… {_title(execution)}  waits for approval (ticket {request.ticket_id})")

    def arm(self, execution: StepExecution, name: str, why: str) -> None:
        self._print(f"{_indent(execution)}  ? {name}: {why}")

    def warn(self, message: str, *, execution: StepExecution | None = None) -> None:
        self._print(f" {message}", lead=paint("warning:", "yellow", stream=self._stream))

    def _explain(self, execution: StepExecution, data: Mapping[str, Any]) -> None:
        """The failing step: what was run, its exit code, the last lines it said."""
        indent = _indent(execution) + "    "
        failure, detail = data.get("failure") or {}, data.get("detail") or {}
        if failure:  # items that may fail have said so themselves
            self._print(f"{indent}{failure.get('kind')}: {failure.get('message')}")
        if detail.get("command"):
            self._print(f"{indent}command: {shlex.join(detail['command'])}")
        if detail.get("exit_code") is not None:
            self._print(f"{indent}exit code: {detail['exit_code']}")
        for name in ("stdout", "stderr"):
            # Masked as a whole: a secret of several lines is not found in any one of them.
            lines = self.mask(str(detail.get(name) or "")).rstrip().splitlines()[-_TAIL:]
            for line in lines:
                self._print(f"{indent}{name}: {line}", masked=True)

    # -- the screen ----------------------------------------------------------------------------------------------

    def hold(self, held: bool) -> None:
        """Keep everything away while somebody is asked; what other branches have to say comes after the answer."""
        with self._lock:
            self._held += 1 if held else -1
            self._erase()
            if not self._held:
                self._release()

    def close(self) -> None:
        """Take the live line off the screen."""
        with self._lock:
            self._running.clear()
            self._erase()
            self._closed = True
            self._release()

    def _print(self, text: str, *, lead: str = "", masked: bool = False) -> None:
        with self._lock:
            self._erase()
            self._kept.append(f"{lead}{plain(text if masked else self.mask(text))}\n")
            if self._closed or not self._held:
                self._release()

    def _release(self) -> None:
        self._stream.write("".join(self._kept))
        self._stream.flush()
        self._kept.clear()

    def _erase(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _tick(self) -> None:
        while True:
            time.sleep(_TICK)
            with self._lock:
                if self._closed or self._held or not self._running:
                    self._erase()
                    continue
                now = time.monotonic()
                title, since = next(iter(self._running.values()))
                more = f" (+{len(self._running) - 1} more)" if len(self._running) > 1 else ""
                text = plain(self.mask(f"  … {title}{more}  {now - since:.1f}s"))
                self._stream.write(f"\r\x1b[K{text[:100]}")
                self._stream.flush()
                self._shown = True


class DryProgress(TerminalProgress):
    """Shows per step what would happen: contract, decision, resolved inputs, secrets and platform.

    That is the result of a rehearsal, so people get it on standard output.
    """

    def begin(self, run: Run) -> None:
        """The secrets of the runbook itself."""
        for name in sorted(run.secrets.runbook):
            self._print(f"secret {name}: {_presence(run, name)}")

    def finished(self, execution: StepExecution, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        super().finished(execution, status, data, duration)
        compiled = execution.compiled
        if not compiled.governed or execution.decision is None or status is StepStatus.SKIPPED:
            return
        indent = _indent(execution) + "    "
        contract, decision = compiled.contract, execution.decision
        words = [f"effects {_tags(contract.effects)}", f"writes {_tags(contract.writes)}"]
        words += [word for word in ("idempotent", "deterministic") if getattr(contract, word)]
        self._print(f"{indent}contract: {', '.join(words)}")
        self._print(f"{indent}governance: {decision.action} (risk {decision.risk}). {decision.reason}")
        if compiled.has_inputs:
            for name, value in execution.inputs.items():
                self._print(f"{indent}input {name} = {value}")
        if compiled.use is not None:
            self._tool(execution, indent)

    def _tool(self, execution: StepExecution, indent: str) -> None:
        run, use = execution.run, execution.compiled.use
        assert use is not None  # noqa: S101 - asked by the caller
        tool = run.runbook.tools[use.tool]
        for secret in tool.tool.all_secrets:
            self._print(f"{indent}secret {secret.env}: {_presence(run, secret.env)}")
        if tool.tool.meta.platform:
            self._print(f"{indent}platform: {', '.join(tool.tool.meta.platform)}")


def _presence(run: Run, secret: str) -> str:
    return "present" if run.secrets.values.get(secret) else "missing"


def _indent(execution: StepExecution) -> str:
    return "  " * execution.frame.depth


def _title(execution: StepExecution) -> str:
    compiled = execution.compiled
    name = execution.key.rpartition("/")[2] or compiled.id
    return f"{name}  {compiled.type.name}" + (" (maybe)" if execution.maybe else "")


def _reason(data: Mapping[str, Any]) -> str:
    return str(data.get("reason", "")).replace("_", " ")


def _tags(tags: tuple[str, ...]) -> str:
    return ", ".join(tags) or "none"


__all__ = ["DryProgress", "TerminalProgress"]
