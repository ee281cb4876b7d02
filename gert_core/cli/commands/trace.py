"""``gert trace``: is a trace as it was written, and what does it tell."""

from __future__ import annotations

import json as json_
import os
from functools import cache
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, out, paint
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.signatures import SignatureScheme
    from gert_core.trace.verify import Verification


def verify_(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The trace, a file of one JSON object per line.", readable=False)],
    key_id: Annotated[
        str | None, typer.Option("--key-id", metavar="K", help="Demand a signature made with this key.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check the hash chain and the signatures of a trace."""
    from gert_core.trace.signing import verifying_key

    @cache
    def schemes(algorithm: str) -> SignatureScheme | None:
        # Plugins are looked for only when a signature wants them: most traces are unsigned.
        return registry_for(project_or_warning(), ctx.obj).signature_scheme(algorithm)

    verdict = verify(
        file,
        key_for=lambda alg, key: verifying_key(alg, key, environ=os.environ, schemes=schemes),
        schemes=schemes,
    )
    unmet = _unmet(verdict, key_id)
    if verdict.status is TraceStatus.VALID:
        _caution(verdict, schemes)
    if json:
        document = verdict.to_json()
        if unmet:
            # Another key's signature is not the one that was asked for; an unsigned trace stays unsigned.
            wrong = TraceStatus.BAD_SIGNATURE if verdict.key_id else verdict.status
            document |= {"valid": False, "verdict": str(wrong), "detail": unmet}
        out(json_.dumps(document, ensure_ascii=False))
    else:
        _say(verdict, unmet)
    return 0 if verdict.valid and not unmet else 1


def _caution(verdict: Verification, schemes: Callable[[str], SignatureScheme | None]) -> None:
    """A shared key that somebody took for a public one proves nothing: say what kind of key it was taken for."""
    from gert_core.trace.signing import VERIFY_ALG, VERIFY_KEY, pinned

    scheme = schemes(verdict.algorithm or "")
    given = any(name.startswith(VERIFY_KEY) and value for name, value in os.environ.items())
    if scheme is not None and scheme.symmetric and given and not pinned(verdict.key_id or "", os.environ):
        err(
            f"note: {verdict.algorithm} takes the key as a shared secret: whoever knows it can sign. "
            f"Set {VERIFY_ALG} to accept one algorithm only"
        )


def _unmet(verdict: Verification, key_id: str | None) -> str | None:
    """Why an intact trace is still not what ``--key-id`` asked for."""
    if key_id is None or not verdict.valid or verdict.key_id == key_id:
        return None
    found = f"it is signed by key {verdict.key_id!r}" if verdict.key_id else "nobody signed it"
    return f"a signature by key {key_id!r} was demanded, but {found}"


def _say(verdict: Verification, unmet: str | None) -> None:
    good, bad, note = paint("✓", "green"), paint("✗", "red"), paint("!", "yellow")
    events = f"{verdict.events} event{'' if verdict.events == 1 else 's'}"
    match verdict.status:
        case TraceStatus.ALTERED:
            out(f"{bad} Altered at event {verdict.first_bad_event}: {verdict.detail}")
            return
        case TraceStatus.TRUNCATED:
            out(f"{bad} Truncated: {verdict.detail}")
            return
    out(f"{good} Chain integrity: {events}, no breaks")
    match verdict.status:
        case TraceStatus.VALID:
            out(f'{good} Signature valid: signed by key "{verdict.key_id}" ({verdict.algorithm})')
        case TraceStatus.UNSIGNED:
            out(f"{note} Unsigned: {verdict.detail}")
        case TraceStatus.BAD_SIGNATURE:
            out(f"{bad} Bad signature: {verdict.detail}")
        case TraceStatus.NO_KEY:
            out(f"{bad} Signed, but no key given: {verdict.detail}")
            from gert_core.trace.signing import VERIFY_KEY, key_suffix

            err(f"  hint: set {VERIFY_KEY}_{key_suffix(verdict.key_id or '')} or {VERIFY_KEY}")
    if unmet:
        out(f"{bad} {unmet[0].upper()}{unmet[1:]}")


def show(
    file: Annotated[Path, typer.Argument(help="The trace, a file of one JSON object per line.", readable=False)],
    step: Annotated[
        str | None, typer.Option("--step", metavar="KEY", help="Only this step: its id or its key, and what is below.")
    ] = None,
    type: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option("--type", metavar="EVENT", help="Only events of this type.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show a trace as a timeline, nested by step."""
    from gert_core.cli.render.timeline import as_json, timeline
    from gert_core.trace.reader import read

    if not file.is_file():
        raise UsageError(f"there is no trace {file}", hint="give the path of a trace.jsonl")
    if json:
        document = as_json(read(file), step=step, kind=type)
        out(json_.dumps(document, ensure_ascii=False))
        shown = bool(document["events"])
    else:
        shown = False
        for line in timeline(read(file), step=step, kind=type):
            out(line)
            shown = True
    if not shown:
        err(f"note: {_nothing(file, step=step, kind=type)}")
    return 0


def _nothing(file: Path, *, step: str | None, kind: str | None) -> str:
    """Why nothing is shown, with the words that would show something."""
    from gert_core.cli.render.timeline import wanted
    from gert_core.trace.reader import read

    events = list(read(file))
    if not events:
        return f"{file} holds no event"
    if step is not None and not any(wanted(event, step=step, kind=None) for event in events):
        keys = dict.fromkeys(event.step_key for event in events if event.step_key)
        return f"no event of {file} belongs to step {step!r}; its steps are {', '.join(keys) or 'none'}"
    types = dict.fromkeys(event.type for event in events if wanted(event, step=step, kind=None))
    return f"no event there is of type {kind!r}; there are {', '.join(types)}"


__all__ = ["show", "verify_"]
