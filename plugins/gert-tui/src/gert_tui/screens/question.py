"""The form for one question of a step: a confirmation, text, a choice, check boxes or a path; or Reject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Checkbox, Input, RadioButton, RadioSet, Static

from gert_core.api import GertError
from gert_core.kit.answers import DECLINED
from gert_core.kit.display import readable_key, readable_time
from gert_tui.screens.dialogs import Dialog, Fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from gert_tui.app import GertApp
    from gert_tui.session import RunSession


class Box(Checkbox):
    """A check box that every terminal can draw, without colours too."""

    BUTTON_LEFT, BUTTON_RIGHT = "[", "]"

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802 - Textual's name, whose mark differs in colour
        """The mark of a box that is ticked."""
        return "x" if self.value else " "


class Radio(RadioButton):
    """One of several, that every terminal can draw, without colours too."""

    BUTTON_LEFT, BUTTON_RIGHT = "(", ")"

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802 - Textual's name, whose mark differs in colour
        """The mark of the one that is chosen."""
        return "*" if self.value else " "


class QuestionScreen(Dialog[bool]):
    """One question; the result is whether it was answered here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "later"),
        Binding("ctrl+s", "send", "send", priority=True),
        Binding("ctrl+r", "reject", "reject", priority=True),
    ]

    def __init__(self, session: RunSession, question: Mapping[str, Any]) -> None:
        super().__init__()
        self.session = session
        self.question = question
        self.kind = str(question.get("kind"))
        self.items = [str(item) for item in question.get("items") or ()]

    KEPT: ClassVar[int] = 8

    def form(self) -> ComposeResult:
        """Yield the instructions, what is asked, and the buttons."""
        spell = cast("GertApp", self.app).look.spell
        asked = self.question
        yield Static(
            spell(f"{readable_key(str(asked.get('step_key') or ''))}: {asked['name']}"),
            classes="title",
            markup=False,
        )
        with VerticalScroll(classes="fields", can_focus=False):
            for line in str(asked.get("instructions") or "").splitlines():
                yield Static(spell(line), markup=False)
            if asked.get("title") and asked.get("title") != asked.get("instructions"):
                yield Static(spell(str(asked["title"])), markup=False)
            yield from self._fields()
        if asked.get("expires_at"):
            yield Static(spell(f"expires {readable_time(str(asked['expires_at']))}"), markup=False)
        yield Static("", classes="wrong", markup=False)
        with Horizontal(classes="buttons"):
            yield Button(Text("[ Confirm ]" if self.kind == "confirm" else "[ Send ]"), id="send")
            if self.kind != "input":
                yield Button(Text("[ Reject ]"), id="reject")
            yield Button(Text("[ Later ]"), id="later")

    def _fields(self) -> ComposeResult:
        spell = cast("GertApp", self.app).look.spell
        if self.kind == "checklist":
            for item in self.items:
                yield Box(Text(spell(item)))
        elif self.kind == "choice":
            yield RadioSet(*(Radio(Text(spell(item))) for item in self.items))
        elif self.kind != "confirm":
            told = "the path of a file" if self.kind == "attachment" else ""
            box = Input(id="answer", password=bool(self.question.get("hidden")), placeholder=told)
            box.cursor_blink = False
            yield box

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the answer."""
        self.action_send()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Send, reject or leave."""
        {"send": self.action_send, "reject": self.action_reject}.get(str(event.button.id), self.action_leave)()

    def action_leave(self) -> None:
        """Answer later."""
        self.dismiss(False)

    def action_send(self) -> None:
        """Send the answer; what is wrong with it is shown, and it can be mended."""
        if self.kind == "choice" and self.query_one(RadioSet).pressed_index < 0:
            self._wrong("choose one of them first: Up and Down move, Space chooses")
            return
        self._settle(lambda hosted, name: hosted.answer(name, self._value()))

    def action_reject(self) -> None:
        """Ask for a reason, and reject."""

        def given(found: dict[str, str] | None) -> None:
            if found is not None:
                self._settle(lambda hosted, name: hosted.decline(name, found["reason"].strip() or DECLINED))

        self.app.push_screen(Fill("Reject this step", [], [("reason", "Why", "")], button="Reject"), given)

    def _value(self) -> object:
        if self.kind == "confirm":
            return True
        if self.kind == "checklist":
            return [number for number, box in enumerate(self.query(Box), 1) if box.value]
        if self.kind == "choice":
            return self.items[self.query_one(RadioSet).pressed_index]
        return self.query_one("#answer", Input).value

    def _settle(self, settle: Any) -> None:
        hosted = self.session.hosted
        try:
            taken = hosted is not None and settle(hosted, str(self.question["question_id"]))
        except GertError as error:
            self._wrong(str(error.message))
            return
        if not taken:
            cast("GertApp", self.app).say("this question is not open any more")
        self.dismiss(True)

    def _wrong(self, text: str) -> None:
        self.query_one(".wrong", Static).update(cast("GertApp", self.app).drawn(text))


__all__ = ["QuestionScreen"]
