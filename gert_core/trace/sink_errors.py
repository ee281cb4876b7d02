"""Turn what a sink raises into the error with which a run stops."""

from __future__ import annotations

from gert_core.api.errors import StoreError, TraceError


def sink_error(error: OSError, place: str, what: str) -> TraceError:
    """Return the error of a trace that cannot be ``what`` (written, synced to disk, found) at ``place``."""
    if isinstance(error, StoreError):
        return TraceError(f"{error.message}; the run stops here", kind=error.kind, hint=error.hint)
    if isinstance(error, FileNotFoundError):
        return TraceError(
            f"the trace {place} was deleted, moved or replaced while the run wrote it; the run stops here",
            hint="nothing else records what was executed since; put the file back before you resume the run",
        )
    return TraceError(
        f"the trace {place} cannot be {what}: {error.strerror or error}; the run stops here",
        hint="free disk space or repair the file system, then resume the run; the events written so far stay valid",
    )


__all__ = ["sink_error"]
