"""What is done beside answering requests: deliver notifications, rewrite messages, and resume what was answered."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from gert_core.api import GertError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_web.site import WebSite

EVERY: Final = 5.0
"""Seconds between two rounds."""
log = logging.getLogger("gert_web")


class Upkeep:
    """A thread that goes its rounds until it is stopped."""

    def __init__(self, site: WebSite) -> None:
        self._site = site
        self._host = site.host
        self._stop = threading.Event()
        self._said: set[str] = set()
        self._thread = threading.Thread(target=self._rounds, name="gert-web-upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End it with the round."""
        self._stop.set()
        self._thread.join(12.0)

    def _rounds(self) -> None:
        while not self._stop.is_set():
            for part in (
                self._host.update_messages,
                self._site.resume.answered,
                self._flush,
                self._site.endings.refresh,
            ):
                self._do(part)
            self._stop.wait(EVERY)

    def _flush(self) -> None:
        for _ in self._host.flush():
            if self._stop.is_set():
                return

    def _do(self, part: Callable[[], object]) -> None:
        """Do one part; what is wrong is said once, and the other parts are done all the same."""
        try:
            part()
        except (GertError, OSError) as error:
            text = getattr(error, "message", None) or str(error)
            if text not in self._said:
                self._said.add(text)
                log.error("%s", text)


__all__ = ["EVERY", "Upkeep"]
