"""The panel with the steps of a run: a tree with an icon for what became of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from gert_core.kit.time_spans import recorded_seconds
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from gert_tui.look import Look
    from gert_tui.model.run import RunModel
    from gert_tui.model.steps import ShownStep


class StepsView(RowsView):
    """The steps of a run; the cursor goes with the run until the person moves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "fold", "Fold or unfold", show=False)]

    def __init__(self, model: RunModel, look: Look, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.model = model
        self.look = look
        self.follows = True
        self._chosen: ShownStep | None = None
        """The step on which the person put the cursor, which stays on it when rows come above."""

    @property
    def selected(self) -> ShownStep | None:
        """The step at the cursor."""
        rows = self.model.steps.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    def count(self) -> int:
        """Return how many rows there are."""
        return len(self.model.steps)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return a row: icon, name, and how far it is."""
        step = self.model.steps.rows[number]
        spell, style = self.look.spell, self.look.style(step.status)
        mark = f"{self.look.closed} " if step.folded and step.children else ""
        shown = [
            ("  " * step.depth, ""),
            (f"{self.look.icon(step.status)} ", style),
            (f"{mark}{spell(step.name)}", style if step.status in ("", "skipped") else ""),
        ]
        if step.loop is not None and step.status in ("running", "again"):
            failed = f", {step.loop['failed']} failed" if step.loop.get("failed") else ""
            shown.append((f"  {step.loop['done']}/{step.loop['total']}{failed}", "cyan"))
        if step.attempt > 1:
            shown.append((f"  attempt {step.attempt}", "yellow"))
        if step.duration and not step.children:
            shown.append((f"  {_short(step.duration)}", "dim"))
        return shown

    def follow(self) -> None:
        """Put the cursor on the step that runs or waits, unless the person looks at another one."""
        self.changed()
        step = self.model.steps.find(self.model.current) if self.follows else self._chosen
        rows = self.model.steps.rows
        if step is not None and step is not self.selected and step in rows:
            self.move_to(rows.index(step))

    def move_to(self, number: int) -> None:
        """Put the cursor on a row, and keep which step that is."""
        super().move_to(number)
        self._chosen = self.selected

    def action_move(self, by: int) -> None:
        """Move the cursor, which then stays where it is."""
        self.follows = False
        super().action_move(by)

    def action_fold(self) -> None:
        """Hide or show what is inside the step at the cursor."""
        step = self.selected
        if step is not None and step.children:
            self.model.steps.fold(step, not step.folded)
            self.changed()


def _short(duration: str) -> str:
    seconds = recorded_seconds(duration)
    if seconds is None:
        return duration
    return f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds) // 60}m{int(seconds) % 60:02}s"


__all__ = ["StepsView"]
