"""What an earlier process left is believed only as far as its signatures hold, where signatures are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError
from gert_core.trace.signing import SIGNING_KEY, VERIFY_KEY, verifying_key
from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.trace.signing import Schemes


def refuse_forged(trace: Path, *, signed: bool, environ: Mapping[str, str], schemes: Schemes) -> None:
    """Stop before a run goes on from seals that were altered; ``signed`` says that its processes seal with a key.

    Otherwise the next seal, made with the right key, would vouch for what somebody else wrote. Without any key in
    the environment there is nothing to check with.
    """
    if not any(environ[name] for name in environ if name.startswith((SIGNING_KEY, VERIFY_KEY))):
        return
    verdict = verify(
        trace,
        key_for=lambda algorithm, key_id: verifying_key(algorithm, key_id, environ=environ, schemes=schemes),
        schemes=schemes,
    )
    stripped = signed and verdict.status is TraceStatus.UNSIGNED
    if stripped or verdict.status in (TraceStatus.ALTERED, TraceStatus.BAD_SIGNATURE):
        detail = "the run is signed, but its seal is not" if stripped else verdict.detail
        raise RunError(
            f"the trace {trace} is not as it was signed: {detail}",
            kind=ErrorKind.TRACE_ALTERED,
            hint="gert trace verify tells more; an altered run cannot be resumed",
        )


__all__ = ["refuse_forged"]
