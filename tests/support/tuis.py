"""``gert tui`` in a test: the app with a pilot that presses keys over real runs, and what is on its screen."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from gert_tui.app import GertApp
from gert_tui.command import read
from gert_tui.look import UNICODE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hosting import Lab
    from textual.pilot import Pilot

    from gert_core.hosting import Host


class OnTui:
    """The app while a test looks at it."""

    def __init__(self, app: GertApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def rows(self) -> list[str]:
        """What is on the screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    async def press(self, *keys: str) -> OnTui:
        await self.pilot.press(*keys)
        return self

    async def type(self, text: str) -> OnTui:
        return await self.press(*("space" if char == " " else char for char in text))

    async def until(self, *wanted: str | Callable[[], object], seconds: float = 12.0) -> OnTui:
        """Wait until texts are on the screen, or something holds."""
        end = time.monotonic() + seconds
        while not all(one in self.text if isinstance(one, str) else one() for one in wanted):
            if self.app._exception is not None:
                raise self.app._exception
            assert time.monotonic() < end, f"{wanted}:\n{self.text}"
            await self.pilot.pause(0.02)
        return self

    async def gone(self, text: str) -> OnTui:
        return await self.until(lambda: text not in self.text)


def on_tui(
    lab: Lab,
    *args: str,
    script: Callable[[OnTui], Awaitable[Any]],
    size: tuple[int, int] = (120, 32),
    look: Any = UNICODE,
    host: Host | None = None,
) -> Any:
    """Run ``gert tui`` with these words in the directory of a lab, and a script over it; return what that does."""

    async def main() -> Any:
        app = GertApp(host or lab.host(), read(args), look=look)
        async with app.run_test(size=size, notifications=True) as pilot:
            return await script(OnTui(app, pilot))

    return asyncio.run(main())


__all__ = ["OnTui", "on_tui"]
