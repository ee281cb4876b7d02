"""Refuse to resume a run whose seals do not hold, where signatures are in use."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError
from gert_core.trace.signing import SIGNING_KEY, VERIFY_KEY, verifying_key
from gert_core.trace.verify import TraceStatus, check_signatures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.engine.resume.read import RecordedRun
    from gert_core.runs.choices import RunChoices
    from gert_core.trace.seals import Seal
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
            f"the trace {run.stored.place} is not as it was signed: {detail}",
            kind=ErrorKind.TRACE_ALTERED,
            hint="see gert trace verify; an altered run cannot be resumed",
        )


def refuse_other_signer(choices: RunChoices, signer: Signer | None, seals: Sequence[Seal], *, run_id: str) -> None:
    """Raise ``RunError`` when a run would continue with another signer than it began with, or with none.

    The key that is set now must also have made every seal: its id is only a name, and what the first event says
    about it could have been written by somebody else.
    """
    began = choices.signer
    if began is None and signer is None:
        return
    if began is None:
        # The seal would confirm everything before it, which was written without a key.
        raise RunError(
            f"run {run_id} began without a signature, and a signing key is set now",
            kind=ErrorKind.SIGNER_CHANGED,
            hint=f"unset {SIGNING_KEY} to go on unsigned, or start a new run, which is signed",
        )
    if signer is None:
        # A trace that was signed and ends unsigned does not verify, and nothing can repair it later.
        raise RunError(
            f"run {run_id} is signed (key {began.get('key_id')}), and no signing key is set now",
            kind=ErrorKind.SIGNING_KEY_MISSING,
            hint=f"set {SIGNING_KEY} (and {SIGNING_KEY}_ID), then resume again",
        )
    now = signer.to_json()
    others = [name for name, value in began.items() if now.get(name) != value]
    foreign = next((seal for seal in seals if not _made(seal, signer)), None)
    if not others and foreign is None:
        return
    if others and others != ["fingerprint"]:
        what = f"run {run_id} is signed with {_name(began)}, and the signing key set now is {_name(now)}"
    elif others:
        what = f"run {run_id} is signed with {_name(began)}, and the signing key set now is another one of the same id"
    else:
        event = 0 if foreign is None else foreign.event
        what = f"event {event} of run {run_id} was not signed with the signing key set now"
    raise RunError(
        what,
        kind=ErrorKind.SIGNER_CHANGED,
        hint=f"set {SIGNING_KEY} and {SIGNING_KEY}_ID to the key that the run began with",
    )


def _made(seal: Seal, signer: Signer) -> bool:
    """Return whether the signer made a seal; a scheme that cannot verify with its own key signs once more."""
    if seal.signature is None:
        return True  # of a run that was not signed at the time; whether that is possible was decided before
    message = seal.chain_hash.encode("ascii")
    if signer.verify is not None:
        return signer.verify(message, seal.signature)
    return hmac.compare_digest(signer.sign(message), seal.signature)


def _name(signer: Mapping[str, str]) -> str:
    return f"{signer['algorithm']} key {signer['key_id']}" if "algorithm" in signer else f"key {signer.get('key_id')}"


__all__ = ["refuse_forged", "refuse_other_signer"]
