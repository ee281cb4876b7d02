"""The key Enter on a run: answer what it asks, question by question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gert_tui.app import GertApp
    from gert_tui.session import RunSession
    from gert_tui.widgets.steps import StepsView


class Asking:
    """Questions of a run, for its screen."""

    session: RunSession
    steps: StepsView
    _answering: str | None = None
    """The step whose questions are being answered: its next one is shown as it comes."""

    @property
    def _app_(self) -> GertApp:
        return cast("GertApp", cast("Any", self).app)

    def action_confirm(self) -> None:
        """Open the question of the step at the cursor, else the oldest one; without any, fold or show the step."""
        model, step = self.session.model, self.steps.selected
        if model.questions:
            key = step.key if step is not None else None
            mine = [name for name, asked in model.questions.items() if asked["step_key"] == key]
            self._ask((mine or list(model.questions))[0])
        elif model.tickets and model.end is None:
            cast("Any", self).action_approvals()
        elif model.asked:
            asks = model.status == "running" and model.end is None
            told = "another process asks this" if asks else "this run is suspended: r goes on here and asks"
            self._app_.say(told)
        elif step is not None and step.children:
            self.steps.action_fold()
        elif step is not None:
            cast("Any", self).action_output()

    def ask_on(self) -> None:
        """Show the next question of the step that is being answered, and close a form that is not needed any more."""
        from gert_tui.screens.question import QuestionScreen

        model = self.session.model
        shown: object = self._app_.screen
        if isinstance(shown, QuestionScreen) and shown.session is self.session:
            if shown.question["question_id"] not in model.questions:
                shown.dismiss(None)
            return
        if self._answering is None or shown is not self:
            return
        mine = [name for name, asked in model.questions.items() if asked["step_key"] == self._answering]
        if mine:
            self._ask(mine[0])

    def _ask(self, name: str) -> None:
        from gert_tui.screens.question import QuestionScreen

        question = self.session.model.questions[name]

        def answered(done: bool | None) -> None:
            self._answering = question["step_key"] if done else None
            if done:
                self.session.model.questions.pop(name, None)
                self.ask_on()

        self._app_.push_screen(QuestionScreen(self.session, question), answered)


__all__ = ["Asking"]
