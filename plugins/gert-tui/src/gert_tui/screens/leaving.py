"""Quit: what becomes of runs that are executed here is asked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gert_tui.app import GertApp
    from gert_tui.session import RunSession


class Leaving:
    """The key q, for screens."""

    def action_quit(self) -> None:
        """Quit at once, or ask about the runs that are executed here."""
        app = cast("GertApp", cast("Any", self).app)
        live = app.live
        if not live:
            app.exit()
            return
        from gert_tui.screens.dialogs import Choose

        names = ", ".join(session.run_id for session in live)
        waits = all(session.hosted is not None and session.hosted.waits for session in live)
        options = ["Stay", "Cancel and quit: gert resume continues it"]
        if waits:
            options.insert(1, "Leave it to the inbox and quit: gert resume continues it when it is answered")
        told = f"{names} {'waits for people' if waits else 'is being executed'} here."

        def chosen(number: int | None) -> None:
            if number:
                _leave(app, live, cancel=not waits or number == len(options) - 1)

        app.push_screen(Choose("Quit?", [told], options), chosen)


def _leave(app: GertApp, live: list[RunSession], *, cancel: bool) -> None:
    app.say("ending what runs here")

    def work() -> None:
        for session in live:
            if session.hosted is not None:
                if cancel:
                    session.hosted.cancel("the screen was closed")
                else:
                    session.hosted.suspend()
        for session in live:
            if session.hosted is not None:
                session.hosted.wait(15)
        app.call_later(app.exit)

    app.apart(work)


__all__ = ["Leaving"]
