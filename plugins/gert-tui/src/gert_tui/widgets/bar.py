"""The line at the bottom that says how a run stands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.text import Text
from textual.widget import Widget

from gert_core.kit.escaping import cut

if TYPE_CHECKING:
    from gert_tui.look import Look
    from gert_tui.model.run import RunModel


class StatusBar(Widget):
    """Status, risk, counts and time of a run; what does not fit is left out from the right."""

    def __init__(self, model: RunModel, look: Look, *, mode: str = "real", note: str = "") -> None:
        super().__init__(id="bar")
        self.model = model
        self.look = look
        self.mode = mode
        self.note = note

    def render(self) -> Text:
        """Return the line."""
        return Text(cut(f" {self.text()}", self.size.width), no_wrap=True, style="reverse", end="")

    def text(self) -> str:
        """Return what the line says."""
        model = self.model
        parts = [*([f"[{self.mode}]"] if self.mode not in ("real", "") else []), f"Status: {self._status()}"]
        if model.risk:
            parts.append(f"Risk: {self.look.spell(model.risk)}")
        counts = [f"{model.done} done", f"{len(model.running)} running", f"{model.failed} failed"]
        counts += [f"{model.skipped} skipped"] if model.skipped else []
        parts += [f"Duration: {_duration(model.started, model.finished)}", ", ".join(counts)]
        return f" {self.look.bar} ".join([*parts, *([self.note] if self.note else [])])

    def _status(self) -> str:
        model, spell = self.model, self.look.spell
        step = model.steps.find(model.current)
        name = "" if step is None else spell(step.name)
        if model.tickets and model.end is None:
            return f"{name} needs approval: press a"
        if model.questions:
            return f"{name} asks: press Enter" if name else "asks: press Enter"
        if model.asked and model.end is None:
            return f"{name} waits for an answer"
        if model.outcome:
            code = model.outcome.get("code")
            return spell(f"{model.outcome.get('category')}{f' ({code})' if code else ''}")
        if model.status == "running" and name:
            return f"executing {name}" if model.running else f"after {name}"
        return spell(model.status.replace("_", " ")) or "starting"


def _duration(started: str, finished: str) -> str:
    """Return the time from one moment to another, or to now."""
    try:
        begin = datetime.fromisoformat(started)
        end = datetime.fromisoformat(finished) if finished else datetime.now(UTC)
    except ValueError:
        return "0s"
    seconds = max(int((end - begin).total_seconds()), 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"


__all__ = ["StatusBar"]
