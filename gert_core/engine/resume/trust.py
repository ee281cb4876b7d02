"""Refuses to resume a run whose seals do not hold, where signatures are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError
from gert_core.trace.signing import SIGNING_KEY, VERIFY_KEY, verifying_key
from gert_core.trace.verify import TraceStatus, check_signatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.resume.read import RecordedRun
    from gert_core.runs.choices import RunChoices
    from gert_core.trace.signing import Schemes, Signer


def refuse_forged(run: RecordedRun, *, environ: Mapping[str, str], schemes: Schemes) -> None:
    """Raise ``RunError`` when a seal of the trace was not made with the key it names, or was stripped.

    Otherwise the next seal, made with the right key, would confirm what somebody else wrote. Without any key in the
    environment there is nothing to check with.
    """
    if not run.seals or not any(environ[name] for name in environ if name.startswith((SIGNING_KEY, VERIFY_KEY))):
        return
    found = check_signatures(
        run.end.seq,
        run.seals,
        key_for=lambda algorithm, key_id: verifying_key(algorithm, key_id, environ=environ),
        schemes=schemes,
    )
    stripped = run.choices.signer is not None and found.status is TraceStatus.UNSIGNED
    if stripped or found.status is TraceStatus.BAD_SIGNATURE:
        detail = "the run is signed, but its seal is not" if stripped else found.detail
        raise RunError(
            f"the trace {run.trace} is not as it was signed: {detail}",
            kind=ErrorKind.TRACE_ALTERED,
            hint="see gert trace verify; an altered run cannot be resumed",
        )


def refuse_unsigned(choices: RunChoices, signer: Signer | None, *, run_id: str) -> None:
    """Raise ``RunError`` when a run that began signed would continue without a signature."""
    if signer is None and choices.signer is not None:
        # A trace that was signed and ends unsigned does not verify, and nothing can repair it later.
        raise RunError(
            f"run {run_id} is signed (key {choices.signer['key_id']}), and no signing key is set now",
            kind=ErrorKind.SIGNING_KEY_MISSING,
            hint="set GERT_TRACE_SIGNING_KEY (and GERT_TRACE_SIGNING_KEY_ID), then resume again",
        )


__all__ = ["refuse_forged", "refuse_unsigned"]
