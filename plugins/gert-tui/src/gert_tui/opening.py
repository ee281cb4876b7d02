"""Open the screen over a host of the project, and close that host in the end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gert_core.hosting import Host
from gert_tui.app import GertApp
from gert_tui.look import ASCII, UNICODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_tui.command import TuiOptions


def open_screen(wanted: TuiOptions, *, environ: Mapping[str, str]) -> int:
    """Show the screen until it is left, and return the exit code."""
    for name in ("COLUMNS", "LINES"):  # the terminal itself says how large it is, also when that changes
        os.environ.pop(name, None)
    actor = wanted.start.get("actor")
    with Host(environ=environ, actor=actor, **wanted.host) as host:
        if wanted.run is not None:
            host.run(wanted.run)  # what is wrong with it is said before there is a screen
        spelled = (getattr(sys.__stdout__, "encoding", "") or "").lower().replace("-", "")
        app = GertApp(host, wanted, look=UNICODE if spelled == "utf8" and not wanted.ascii else ASCII)
        app.run(mouse=wanted.mouse)
        if app.broken is not None:
            raise app.broken
        return app.return_code or 0


__all__ = ["open_screen"]
