"""The lines about steps that scroll by during a run: titles, results, and what failed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, StepStatus
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.screen import Screen
from gert_core.cli.render.terminal import escape, paint
from gert_core.cli.render.values import named, one_line, tail
from gert_core.engine.progress import Progress
from gert_core.kit.display import readable_key
from gert_core.runs.result import failed_by_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from gert_core.engine.progress import StepInfo

MARKS: Final = {"success": ("✓", "green"), "failed": ("✗", "red"), "error": ("✗", "red"), "skipped": ("○", "dim")}
CONTINUED: Final = ("!", "yellow")
"""The mark of a failed step after which the run continues, or may do so."""
_EXPLANATIONS: Final = 1000
"""The number of explanations that are remembered, so that each is given once."""
_DENIED: Final = (ErrorKind.GOVERNANCE_DENIED, ErrorKind.APPROVAL_REJECTED)
_DRY_RUN: Final = "dry-run"
"""Why every step of a dry-run is not executed, which need not be said again and again."""


class StepLines(Progress):
    """Prints lines about steps to a stream.

    Everything is masked first and then escaped, so that nothing shown can control the terminal. With ``described`` the
    descriptions of steps are shown.
    """

    def __init__(self, stream: TextIO, *, described: bool = False) -> None:
        self._stream = stream
        self._screen = Screen(stream)
        self._described = described
        self.mask: Callable[[str], str] = str
        self._explained: set[tuple[object, ...]] = set()
        self._denied: set[str] = set()
        """Keys of the steps that were denied or not approved: neither they nor steps around them continue."""

    def recorded(self, step: StepInfo) -> None:
        if not step.quiet:
            self._step(step, ("↺", "dim"), "recorded")

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        self._print(f"{indent_of(step)}  ? {name}: {why}")

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self._print(f" {message}", lead=paint("warning:", "yellow", stream=self._stream))

    def _result(
        self, step: StepInfo, status: StepStatus, data: Mapping[str, Any], duration: float, *, said: str
    ) -> None:
        """Print how a step ended; of a container that succeeded nothing, because its steps have lines of their own."""
        alone = step.leaf or step.single
        unasked = status is StepStatus.ERROR and step.gated
        if unasked or (status is StepStatus.SKIPPED and data.get("reason") in _DENIED):
            self._denied.add(step.key)
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
            line = f"{said}  {taken}" if said else taken
        if failed and (step.continues or step.caught) and not self._is_denied(step.key):
            again = alone and self._is_known(step, data)
            then = "continues" if step.continues else "caught"  # what catches it may fail, too
            mark, line = CONTINUED, f"{line}  {status}{' as before' if again else ''}, {then}"
        self._step(step, mark, line)
        if failed and not again and (alone or failed_by_itself(step.key, data.get("failure"))):
            self._explain(step, data)
        elif status is StepStatus.SKIPPED and "approval" in data:
            self._print(f"{indent_of(step)}    {data['approval']['message']}")
        elif status is StepStatus.SKIPPED and data.get("reason") == ErrorKind.GOVERNANCE_DENIED:
            self._print(f"{indent_of(step)}    {data['message']}")

    def _step(self, step: StepInfo, mark: tuple[str, str], text: str = "") -> None:
        """Print the line of a step; its title has been masked already, item by item, in its key."""
        sign, style = mark
        shown = paint(sign, *([style] if style else ()), stream=self._stream)
        rest = f"  {self.mask(text)}" if text else ""
        self._print(
            f"{self._about(step)}{rest}", lead=f"{indent_of(step)}{shown} {escape(self._title(step))}", masked=True
        )

    def _about(self, step: StepInfo) -> str:
        """Return the description of a step as the end of its title; masked, and empty unless it is to be shown."""
        if not self._described or step.description is None:
            return ""
        return f"  {one_line(self.mask(step.description))}"

    def _title(self, step: StepInfo) -> str:
        """Return the title of a step: its name, its type, and its branch and round."""
        label = f" [{self.mask(step.label)}]" if step.label else ""
        return f"{name_of(step)}  {step.type}{label}" + (" (maybe)" if step.maybe else "")

    def _titled(self, step: StepInfo) -> str:
        return f"{self._title(step)}{self._about(step)}"

    def _is_denied(self, key: str) -> bool:
        """Return whether this step or one below it was denied, after which the run ends."""
        return any(denied == key or denied.startswith((f"{key}/", f"{key}[")) for denied in self._denied)

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
        indent = indent_of(step) + "    "
        failure, detail = data.get("failure") or {}, data.get("detail") or {}
        if failure:  # items that may fail have said so themselves
            self._print(f"{indent}{failure.get('kind')}: {failure.get('message')}")
        self._command(detail.get("command"), indent=indent)
        if detail.get("exit_code") is not None:
            self._print(f"{indent}exit code: {detail['exit_code']}")
        for name in ("stdout", "stderr"):
            # Masked as a whole: a secret of several lines is not found in a single one of them.
            for line in tail(self.mask(str(detail.get(name) or ""))):
                self._print(f"{indent}{name}: {line}", masked=True)

    def _command(self, command: Sequence[object] | None, *, indent: str) -> None:
        if command:
            words = [self.mask(str(word)) for word in command]  # before a shell's quotes are added
            for line in named("command:", shlex.join(words), indent=indent):
                self._print(line, masked=True)

    def _print(self, text: str, *, lead: str = "", masked: bool = False) -> None:
        self._screen.print(f"{lead}{escape(text if masked else self.mask(text))}\n")


def indent_of(step: StepInfo) -> str:
    """Return the blanks before the lines of a step."""
    return "  " * step.depth


def name_of(step: StepInfo) -> str:
    """Return how a step is called where what is around it tells its place."""
    return readable_key(step.key.rpartition("/")[2] or step.step_id)


def _reason(data: Mapping[str, object]) -> str:
    approval = data.get("approval")  # it tells why there is none: a rejection, a timeout, no answer
    found = approval.get("reason") if isinstance(approval, dict) else None
    return str(found or data.get("reason", "")).replace("_", " ")


__all__ = ["StepLines", "indent_of", "name_of"]
