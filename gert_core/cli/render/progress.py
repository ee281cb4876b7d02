"""Print one line per step on stderr during a run, with live elapsed time on a terminal."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, StepStatus
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.terminal import coloured, escape, paint, write_text
from gert_core.cli.render.values import named, one_line, tail
from gert_core.engine.progress import Progress
from gert_core.kit.display import readable_key
from gert_core.plugin.printing import real_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from gert_core.api import ApprovalRequest
    from gert_core.documents.retry import RetryPolicy
    from gert_core.engine.progress import Evaluation, StepInfo

MARKS: Final = {"success": ("✓", "green"), "failed": ("✗", "red"), "error": ("✗", "red"), "skipped": ("○", "dim")}
CONTINUED: Final = ("!", "yellow")
"""The mark of a failed step after which the run continues."""
_EXPLANATIONS: Final = 1000
"""The number of explanations that are remembered, so that each is given once."""
_TICK: Final = 0.2
_PAUSES: Final = 5
"""The number of pauses that are listed of a retry policy."""
_DRY_RUN: Final = "dry-run"
"""Why every step of a dry-run is not executed, which need not be said again and again."""


class TerminalProgress(Progress):
    """Prints steps as they finish, containers as they begin.

    Everything is masked first and then escaped, so that nothing shown can control the terminal.
    """

    def __init__(self, stream: TextIO | None = None, *, verbose: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._verbose = verbose
        """Whether the descriptions of steps are shown."""
        self.mask: Callable[[str], str] = str
        self._lock = threading.RLock()
        self._live = self._stream.isatty() and coloured(self._stream)
        self._running: dict[str, tuple[str, float]] = {}
        self._texts: dict[str, str] = {}
        """What steps said last about what they are doing."""
        self._shown = False
        self._held = 0
        self._kept: list[str] = []
        self._closed = False
        self._lost: OSError | None = None
        """The first error of the stream."""
        self._ticker: threading.Thread | None = None
        self._explained: set[tuple[object, ...]] = set()

    # -- the run -------------------------------------------------------------------------------------------------

    def started(self, step: StepInfo) -> None:
        if step.quiet:
            return
        if step.loop or not (step.leaf or step.single):
            self._step(step, ("▸", "cyan"))
        elif self._live:
            with self._lock:
                self._running[step.key] = (f"{_title(step)}{self._about(step)}", time.monotonic())
                if self._ticker is None:
                    self._ticker = threading.Thread(target=self._tick, name="gert-progress", daemon=True)
                    with suppress(RuntimeError, MemoryError):  # without a thread there is no live line
                        self._ticker.start()

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        with self._lock:
            self._running.pop(step.key, None)
            text = self._texts.pop(step.key, "")
            alone = step.leaf or step.single
            if step.quiet or ((step.loop or not alone) and status is StepStatus.SUCCESS):
                return
            failed = status in (StepStatus.FAILED, StepStatus.ERROR)
            mark = MARKS[str(status)]
            symbolic = (data.get("detail") or {}).get("symbolic")
            again = False
            if status is StepStatus.SKIPPED:
                line = f"skipped ({_reason(data)})"
            elif symbolic and alone:
                mark, line = ("·", ""), f"({symbolic})" if symbolic != _DRY_RUN else ""
            else:
                taken = time_taken(f"{duration:.2f}s", data.get("waited"))
                line = f"{text}  {taken}" if text else taken
            if failed and step.continues:
                again = alone and self._is_known(step, data)
                mark, line = CONTINUED, f"{line}  {status}{' as before' if again else ''}, continues"
            self._step(step, mark, line)
            if failed and not again and (alone or _own(step, data)):
                self._explain(step, data)
            elif status is StepStatus.SKIPPED and "approval" in data:
                self._print(f"{_indent(step)}    {data['approval']['message']}")
            elif status is StepStatus.SKIPPED and data.get("reason") == ErrorKind.GOVERNANCE_DENIED:
                self._print(f"{_indent(step)}    {data['message']}")

    def shown(self, step: StepInfo, text: str) -> None:
        with self._lock:
            self._texts[step.key] = text
            title, since = self._running.get(step.key, ("", 0.0))
            if title:
                self._running[step.key] = (f"{_title(step)}  {text}", since)

    def retrying(self, step: StepInfo, *, attempt: int, most: int, delay: float, failure: Mapping[str, str]) -> None:
        number = f"attempt {attempt} of {most}"
        with self._lock:
            if step.key in self._running:  # it is counted from when the attempt begins
                self._running[step.key] = (f"{_title(step)}  {number}", time.monotonic() + delay)
            if step.quiet:
                return
            why = f"{failure['kind']}: {failure['message']}"
            self._step(step, ("↻", "yellow"), f"{number} in {_seconds(delay)}  {why}")

    def recorded(self, step: StepInfo) -> None:
        if step.quiet:
            return
        self._step(step, ("↺", "dim"), "recorded")

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        with self._lock:
            self._running.pop(step.key, None)
            self._texts.pop(step.key, None)
            if cancelled and step.leaf and not (step.loop or step.quiet):
                self._step(step, ("✗", "red"), "cancelled")

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        with self._lock:
            self._running.pop(step.key, None)
        self._step(step, ("…", ""), f"waits for approval (ticket {request.ticket_id})")

    def unanswered(self, step: StepInfo) -> None:
        with self._lock:
            self._running.pop(step.key, None)
        self._step(step, ("…", ""), "waits for an answer")

    def paused(self, step: StepInfo, key: str) -> None:
        with self._lock:
            self._running.pop(step.key, None)
        self._step(step, ("…", ""), f"waits to be unblocked ({key})")

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        self._print(f"{_indent(step)}  ? {name}: {why}")

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self._print(f" {message}", lead=paint("warning:", "yellow", stream=self._stream))

    def _step(self, step: StepInfo, mark: tuple[str, str], text: str = "") -> None:
        """Print the line of a step; its title has been masked already, item by item, in its key."""
        sign, style = mark
        shown = paint(sign, *([style] if style else ()), stream=self._stream)
        rest = f"  {self.mask(text)}" if text else ""
        lead = f"{_indent(step)}{shown} {escape(_title(step))}"
        self._print(f"{self._about(step)}{rest}", lead=lead, masked=True)

    def _about(self, step: StepInfo) -> str:
        """Return the description of a step as the end of its title; masked, and empty unless it is to be shown."""
        if not self._verbose or step.description is None:
            return ""
        return f"  {one_line(self.mask(step.description))}"

    def _is_known(self, step: StepInfo, data: Mapping[str, Any]) -> bool:
        """Return whether the same failure of the same step was explained before."""
        failure = data.get("failure") or {}
        key = (step.step_id, failure.get("kind"), failure.get("message"))
        if not failure or key in self._explained:
            return bool(failure)
        if len(self._explained) < _EXPLANATIONS:
            self._explained.add(key)
        return False

    def _explain(self, step: StepInfo, data: Mapping[str, Any]) -> None:
        """Print what failed: the error, the command, its exit code and the end of its output."""
        indent = _indent(step) + "    "
        failure, detail = data.get("failure") or {}, data.get("detail") or {}
        if failure:  # items that may fail have said so themselves
            self._print(f"{indent}{failure.get('kind')}: {failure.get('message')}")
        if detail.get("command"):
            words = [self.mask(str(word)) for word in detail["command"]]  # before a shell's quotes are added
            for line in named("command:", shlex.join(words), indent=indent):
                self._print(line, masked=True)
        if detail.get("exit_code") is not None:
            self._print(f"{indent}exit code: {detail['exit_code']}")
        for name in ("stdout", "stderr"):
            # Masked as a whole: a secret of several lines is not found in a single one of them.
            for line in tail(self.mask(str(detail.get(name) or ""))):
                self._print(f"{indent}{name}: {line}", masked=True)

    def _value(self, name: str, value: object, *, indent: str) -> None:
        for line in named(name, value, indent=indent, mask=self.mask):
            self._print(line, masked=True)

    # -- the screen ----------------------------------------------------------------------------------------------

    def hold(self, held: bool) -> None:
        """Hold back all output during a dialogue; lines of other branches are printed after the answer."""
        with self._lock:
            self._held += 1 if held else -1
            self._erase()
            if not self._held:
                self._release()

    def close(self) -> None:
        """Remove the live line from the screen."""
        with self._lock:
            self._running.clear()
            self._erase()
            self._closed = True
            self._release()

    def _print(self, text: str, *, lead: str = "", masked: bool = False) -> None:
        with self._lock:
            self._erase()
            self._kept.append(f"{lead}{escape(text if masked else self.mask(text))}\n")
            if self._closed or not self._held:
                self._release()

    def _release(self) -> None:
        lines, self._kept = self._kept, []
        self._write("".join(lines))

    def _erase(self) -> None:
        if self._shown:
            self._shown = False
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        """Write to the stream; what cannot be written is lost: a run does not depend on who watches it."""
        try:
            write_text(self._stream, text)
            self._stream.flush()
        except OSError as error:  # the reader has gone, the terminal was closed, the disk is full
            self._lost = self._lost or error

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
                # Between two attempts it is still to begin.
                elapsed = f"{more}  {now - since:.1f}s" if now >= since else f" in {since - now:.0f}s{more}"
                text = escape(f"  … {title}{elapsed}")
                self._shown = True
                self._write(f"\r\x1b[K{text[:100]}")


class DryProgress(TerminalProgress):
    """Shows per step what would happen: contract, decision, resolved inputs, secrets and platform.

    That is the result of a dry-run, so it goes to standard output.
    """

    def close(self) -> None:
        """Remove the live line from the screen; raise ``OSError`` when a part of the result was not written."""
        super().close()
        if self._lost is not None and self._stream is real_stdout():
            raise self._lost

    def begin(self, secrets: Mapping[str, bool]) -> None:
        """Show the secrets of the runbook itself, and whether each has a value."""
        for name, present in sorted(secrets.items()):
            self._print(f"secret {name}: {_presence(present)}")

    def evaluated(self, step: StepInfo, evaluation: Evaluation) -> None:
        if step.quiet:  # it has no line of its own that these could stand under
            self._step(step, ("·", ""))
        indent = _indent(step) + "    "
        contract, decision = evaluation.contract, evaluation.decision
        words = [f"effects {_tags(contract.effects)}", f"writes {_tags(contract.writes)}"]
        words += [word for word in ("idempotent", "deterministic") if getattr(contract, word)]
        self._print(f"{indent}contract: {', '.join(words)}")
        self._print(f"{indent}governance: {decision.action} (risk {decision.risk}). {decision.reason}")
        for name, value in evaluation.inputs.items():
            self._value(f"input {name} =", value, indent=indent)
        if evaluation.command:
            words = [self.mask(word) for word in evaluation.command]  # before a shell's quotes are added
            for line in named("command:", shlex.join(words), indent=indent):
                self._print(line, masked=True)
        for name, present in evaluation.secrets.items():
            self._print(f"{indent}secret {name}: {_presence(present)}")
        if evaluation.retry is not None:
            self._print(f"{indent}retry: {_policy(evaluation.retry)}")
        if evaluation.artifacts:
            self._print(f"{indent}artifacts: {', '.join(evaluation.artifacts)}")
        if evaluation.platforms:
            self._print(f"{indent}platform: {', '.join(evaluation.platforms)}")


def _presence(present: bool) -> str:
    return "present" if present else "missing"


def _policy(policy: RetryPolicy) -> str:
    """Return a retry policy in words: ``up to 3 attempts, after 2s, 4s``."""
    shown = min(policy.max - 1, _PAUSES)
    pauses = ", ".join(_seconds(policy.pause(number)) for number in range(1, shown + 1))
    more = ", …" if policy.max - 1 > shown else ""
    kinds = f", on {', '.join(sorted(policy.on))}" if policy.on is not None else ""
    return f"up to {policy.max} attempts, after {pauses}{more}{kinds}"


def _seconds(seconds: float) -> str:
    """Return a pause as documents spell it: ``2s``, ``500ms``."""
    return f"{seconds * 1000:.0f}ms" if seconds < 1 else f"{seconds:g}s"


def _indent(step: StepInfo) -> str:
    return "  " * step.depth


def _title(step: StepInfo) -> str:
    name = readable_key(step.key.rpartition("/")[2] or step.step_id)
    return f"{name}  {step.type}" + (" (maybe)" if step.maybe else "")


def _own(step: StepInfo, data: Mapping[str, Any]) -> bool:
    """Return whether a step with blocks failed by itself: steps inside it have explained their own failures."""
    message = str((data.get("failure") or {}).get("message") or "")
    return bool(message) and not message.startswith(f"step {step.key}/")


def _reason(data: Mapping[str, object]) -> str:
    approval = data.get("approval")  # it tells why there is none: a rejection, a timeout, no answer
    found = approval.get("reason") if isinstance(approval, dict) else None
    return str(found or data.get("reason", "")).replace("_", " ")


def _tags(tags: tuple[str, ...]) -> str:
    return ", ".join(tags) or "none"


__all__ = ["DryProgress", "TerminalProgress"]
