"""Use gert from another program: a host of runs, their notices, and where runs stand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LAZY = {
    "COMMAND_LINE": "gert_core.api.giving",
    "Deadline": "gert_core.engine.cancel",
    "Giving": "gert_core.api.giving",
    "Host": "gert_core.hosting.host",
    "HostedRun": "gert_core.hosting.hosted",
    "Notice": "gert_core.api.hosting",
    "RunFinished": "gert_core.engine.resume.plan",
    "RunView": "gert_core.hosting.views",
    "Stop": "gert_core.engine.cancel",
    "TicketView": "gert_core.hosting.views",
    "next_steps": "gert_core.hosting.views",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
