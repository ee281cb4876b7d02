"""Tell a client how far its call is: every finished step, and now and then a line of output."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gert_core.api import EventType
from gert_core.kit.escaping import cut, escape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gert_core.hosting import Notice

_LINES: Final = 0.5
"""The least seconds between two lines of output."""
_WIDTH: Final = 200


class CallProgress:
    """The progress of one call: numbers that rise, each with a message."""

    def __init__(self, report: Callable[[float, float | None, str | None], Awaitable[None]]) -> None:
        self._report = report
        self._number = 0
        self._line = 0.0

    async def tell(self, notice: Notice) -> None:
        """Tell what a notice is worth to somebody who waits."""
        message = self._message(notice)
        if message is not None:
            self._number += 1
            await self._report(float(self._number), None, cut(escape(message), _WIDTH))

    def _message(self, notice: Notice) -> str | None:
        if notice.kind == "event" and notice.data.get("type") == EventType.STEP_COMPLETE:
            return f"{notice.data.get('step_key')}: {notice.data.get('data', {}).get('status')}"
        if notice.kind == "output" and time.monotonic() - self._line >= _LINES:
            line = str(notice.data.get("text", "")).strip().rpartition("\n")[2]
            if line:
                self._line = time.monotonic()
                return (
                    f"{notice.step_key} | {line[:_WIDTH]}"  # what is longer is cut anyway; spelling it out takes long
                )
        return None


__all__ = ["CallProgress"]
