"""gert: governed, replayable runbooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pluggy

    hookimpl: pluggy.HookimplMarker

__version__ = "0.1.0"

# Importing gert_core must stay free: `gert --version` pays for everything that stands here.
_LAZY = {
    "load": "gert_core.host",
    "validate": "gert_core.host",
    "run": "gert_core.host",
    "resume": "gert_core.host",
    "RunFinished": "gert_core.engine.resume.plan",
    "status": "gert_core.hosting.asking",
    "progress": "gert_core.hosting.asking",
    "stream": "gert_core.hosting.asking",
    "stream_progress": "gert_core.hosting.asking",
    "active": "gert_core.hosting.asking",
    "resume_point": "gert_core.hosting.asking",
    "artifacts": "gert_core.hosting.asking",
    "block": "gert_core.host",
    "unblock": "gert_core.host",
}


def __getattr__(name: str) -> Any:
    if name == "hookimpl":
        import pluggy

        found: Any = pluggy.HookimplMarker("gert")
    elif name in _LAZY:
        from importlib import import_module

        found = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), "hookimpl", *_LAZY])


__all__ = ["__version__", "hookimpl"]
