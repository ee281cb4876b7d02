"""The panel with what tools write: of all steps, or of the one that is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.display import readable_key
from gert_tui.model.output import NOTE
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_tui.look import Look
    from gert_tui.model.output import OutputLine
    from gert_tui.model.run import RunModel


class OutputView(RowsView):
    """The output of a run; it goes with the newest line until the person scrolls."""

    def __init__(self, model: RunModel, look: Look, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.model = model
        self.look = look
        self.key: str | None = None
        """The step whose output is shown; None: that of all."""
        self.follows = True
        self._lines: Sequence[OutputLine] = ()

    def count(self) -> int:
        """Return how many lines there are."""
        return len(self.model.output.of(self.key))

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return a line; of all steps with the step's name before it, as ``gert exec -v`` does."""
        line = self.model.output.of(self.key)[number]
        spell = self.look.spell
        text = spell(line.text.rstrip("\r"))
        style = {"stderr": "yellow", NOTE: "dim"}.get(line.stream, "")
        if self.key is not None or not line.key:
            return [(text, style)]
        step = self.model.steps.find(line.key)
        name = readable_key(line.key) if step is None else step.name
        mark = {"stderr": "!", NOTE: " "}.get(line.stream, "|")
        return [(f"{spell(name)} {mark} ", "bold"), (text, style)]

    def show(self, key: str | None) -> None:
        """Show the output of a step, or of all for None."""
        if key != self.key:
            self.key = key
            self.cursor = 0
        self.follow()

    def follow(self) -> None:
        """Draw again, with the newest line in sight unless the person scrolled."""
        self.changed()
        if self.follows:
            self.move_to(self.count() - 1)

    def action_move(self, by: int) -> None:
        """Move the cursor, which then stays where it is; on the last line it goes with the output again."""
        super().action_move(by)
        self.follows = self.cursor >= self.count() - 1


__all__ = ["OutputView"]
