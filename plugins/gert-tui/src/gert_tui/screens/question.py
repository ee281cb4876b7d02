"""The form for one question of a step: a confirmation, text, a choice, check boxes or a path; or Reject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Button, Input, Static

from gert_core.api import GertError
from gert_core.kit.answers import DECLINED
from gert_core.kit.display import readable_key, readable_time
from gert_tui.screens.dialogs import Dialog, Fill
from gert_tui.widgets.fields import Box, OneOf, Radio, TextLine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from gert_tui.app import GertApp
    from gert_tui.session import RunSession


class QuestionScreen(Dialog[bool]):
    """One question; the result is whether it was answered here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "later"),
        Binding("ctrl+s", "send", "send", priority=True),
        Binding("ctrl+r", "reject", "reject", priority=True),
    ]

    KEPT: ClassVar[int] = 9
    KEYS: ClassVar[str] = "F1 help  Esc later  Ctrl-S send  Ctrl-R reject  Tab next"
    name_shown = "a question"

    def __init__(self, session: RunSession, question: Mapping[str, Any]) -> None:
        self.step = readable_key(str(question.get("step_key") or ""))
        told, title = str(question.get("instructions") or ""), str(question.get("title") or "")
        super().__init__(
            f"{self.step}: {question['name']}", [*told.splitlines(), *([title] if title not in ("", told) else [])]
        )
        self.session = session
        self.question = question
        self.kind = str(question.get("kind"))
        self.items = [str(item) for item in question.get("items") or ()]

    def below(self) -> ComposeResult:
        """Yield until when it can be answered, what is wrong, and the buttons."""
        if self.question.get("expires_at"):
            yield Static(self.look.spell(f"expires {readable_time(str(self.question['expires_at']))}"), markup=False)
        yield Static("", classes="wrong", markup=False)
        with Horizontal(classes="buttons"):
            yield Button(Text("[ Confirm ]" if self.kind == "confirm" else "[ Send ]"), id="send")
            if self.kind != "input":
                yield Button(Text("[ Reject ]"), id="reject")
            yield Button(Text("[ Later ]"), id="later")

    def fields(self) -> ComposeResult:
        """Yield what is asked."""
        spell = self.look.spell
        if self.kind == "checklist":
            for item in self.items:
                yield Box(Text(spell(item)))
        elif self.kind == "choice":
            yield OneOf(*(Radio(Text(spell(item))) for item in self.items))
        elif self.kind != "confirm":
            told = "the path of a file" if self.kind == "attachment" else ""
            yield TextLine(id="answer", password=bool(self.question.get("hidden")), placeholder=told)

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
        if self.kind == "choice" and self.query_one(OneOf).pressed_index < 0:
            self.wrong("choose one of them first: Up and Down move, Space chooses")
            return
        self._settle(lambda hosted, name: hosted.answer(name, self._value()))

    def action_reject(self) -> None:
        """Ask for a reason, and reject."""

        def given(found: dict[str, str] | None) -> None:
            if found is not None:
                self._settle(lambda hosted, name: hosted.decline(name, found["reason"].strip() or DECLINED))

        self.app.push_screen(Fill(f"Reject step {self.step}", [], [("reason", "Why", "")], button="Reject"), given)

    def _value(self) -> object:
        if self.kind == "confirm":
            return True
        if self.kind == "checklist":
            return [number for number, box in enumerate(self.query(Box), 1) if box.value]
        if self.kind == "choice":
            return self.items[self.query_one(OneOf).pressed_index]
        return self.query_one("#answer", Input).value

    def _settle(self, settle: Any) -> None:
        hosted = self.session.hosted
        try:
            taken = hosted is not None and settle(hosted, str(self.question["question_id"]))
        except GertError as error:
            self.wrong(str(error.message))
            return
        if not taken:
            cast("GertApp", self.app).say("this question is not open any more")
        self.dismiss(True)


__all__ = ["QuestionScreen"]
