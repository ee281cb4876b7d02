"""The keys that end a run or go on with it: cancel, resume, retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from gert_core.api import GertError
from gert_core.hosting.advice import next_steps_of, resume_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.hosting.advice import NextStep
    from gert_tui.app import GertApp
    from gert_tui.session import RunSession


class GoingOn:
    """The keys r and ctrl+x, for the screen of a run."""

    session: RunSession

    @property
    def _app(self) -> GertApp:
        return cast("GertApp", cast("Any", self).app)

    # -- cancel --------------------------------------------------------------------------------------------------

    def action_cancel(self) -> None:
        """Cancel the run, after one question."""
        from gert_tui.screens.dialogs import Choose

        model = self.session.model
        if not self.session.live and (model.finished or model.end is not None or self.session.hosted is not None):
            self._app.say("not being executed: nothing to cancel")
            return

        def chosen(number: int | None) -> None:
            if number == 1:
                self._cancel()

        told = "Its programs are ended. gert resume, or r, resumes it later."
        self._app.push_screen(Choose(f"Cancel {self.session.run_id}?", [told], ["No", "Cancel the run"]), chosen)

    def _cancel(self) -> None:
        app, run_id = self._app, self.session.run_id

        def work() -> None:
            try:
                app.host.cancel(run_id, reason="on the screen")
            except GertError as error:
                app.call_later(app.show_error, "The run was not cancelled", error)

        app.apart(work)

    # -- resume --------------------------------------------------------------------------------------------------

    def action_resume(self) -> None:
        """Show what can be done about the run next, and do what is chosen."""
        from gert_tui.screens.dialogs import Choose

        view = self.session.view
        steps = [] if view is None or self.session.live else next_steps_of(view.info)
        if not steps:
            self._app.say("there is nothing to resume: it is being executed, or over")
            return

        def chosen(number: int | None) -> None:
            if number is not None:
                self._take(steps[number])

        labels = [f"{step.why}" for step in steps]
        self._app.push_screen(Choose("What is next?", [], labels), chosen)

    def _take(self, step: NextStep) -> None:
        """Do one of the next steps: resume here, decide, or show the command for what is done elsewhere."""
        options = resume_options(step)
        if options is None:
            self._elsewhere(step)
            return
        secrets = options.pop("secrets")
        if not secrets:
            self._resume(options, {})
            return
        from gert_tui.screens.dialogs import Fill

        def given(values: dict[str, str] | None) -> None:
            if values is not None:
                self._resume(options, {name: values[f"v{at}"] for at, name in enumerate(secrets)})

        fields = [(f"v{at}", name, "") for at, name in enumerate(secrets)]
        told = ["These inputs are secrets, which no trace has. Give them again."]
        self._app.push_screen(Fill("Resume", told, fields, button="Resume", hidden=True), given)

    def _elsewhere(self, step: NextStep) -> None:
        import shlex

        from gert_tui.screens.approvals import ApprovalsScreen
        from gert_tui.screens.page import Page

        if step.command[1] in ("approve", "reject"):
            self._app.push_screen(ApprovalsScreen(ticket=step.command[2]))
            return
        if step.command[1] == "answer":  # a run that is resumed here asks again
            self._resume({}, {})
            return
        self._app.push_screen(Page("In another terminal", [step.why, "", f"  {shlex.join(step.command)}"]))

    def _resume(self, options: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        more = {name: value for name, value in options.items() if name != "run_id"}
        app, session = self._app, self.session

        def work() -> None:
            try:
                session.resume(inputs=inputs, **more)
            except GertError as error:
                app.call_later(app.show_error, "The run was not resumed", error)
                return
            app.sessions[session.run_id] = session

        app.apart(work)


__all__ = ["GoingOn"]
