"""``gert trace``: verify a trace, or show it as a timeline."""

from __future__ import annotations

import json as json_
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.cli.stores import store_here, store_option
from gert_core.kit.display import readable_key
from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.signatures import SignatureScheme
    from gert_core.api.stores import StoredRun
    from gert_core.cli.session import Options
    from gert_core.trace.verify import Verification


def _trace_argument() -> Any:
    """Return the declaration of the file that a command reads a trace from."""
    return typer.Argument(help="The trace, a file of one JSON object per line.", readable=False)


def _run_option() -> Any:
    """Return the declaration of the run whose trace a command reads."""
    return typer.Option("--run", metavar="ID", help="The trace of this run: its id, its beginning, or `latest`.")


def verify_(
    ctx: typer.Context,
    file: Annotated[Path | None, _trace_argument()] = None,
    run: Annotated[str | None, _run_option()] = None,
    key_id: Annotated[
        str | None, typer.Option("--key-id", metavar="K", help="Require a signature made with this key.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check the hash chain and the signatures of a trace."""
    found = check(_source(file, run, store, ctx.obj), ctx.obj)
    unmet = _unmet(found, key_id)
    if json:
        document = found.to_json()
        if unmet:
            # A signature of another key does not meet the requirement; an unsigned trace stays unsigned.
            wrong = TraceStatus.BAD_SIGNATURE if found.key_id else found.status
            document |= {"valid": False, "verdict": str(wrong), "detail": unmet}
        out(json_.dumps(document, ensure_ascii=False))
    else:
        _print(found, unmet)
    return 0 if found.valid and not unmet else 1


def check(file: Path | StoredRun, options: Options) -> Verification:
    """Return whether a trace is as it was written, by the keys and plugins of this command."""
    from gert_core.trace.signing import verifying_key

    @cache
    def schemes(algorithm: str) -> SignatureScheme | None:
        # Plugins are loaded only for a signature: most traces are unsigned.
        return registry_for(project_or_warning(), options).signature_scheme(algorithm)

    found = verify(
        file,
        key_for=lambda alg, key: verifying_key(alg, key, environ=options.environ),
        schemes=schemes,
    )
    if found.status is TraceStatus.VALID:
        _caution(found, schemes, options.environ)
    return found


def _caution(found: Verification, schemes: Callable[[str], SignatureScheme | None], environ: Mapping[str, str]) -> None:
    """Note when a key was used as a shared secret: a public key used like that would prove nothing."""
    from gert_core.trace.signing import VERIFY_KEY, key_named

    scheme = schemes(found.algorithm or "")
    given = any(name.startswith(VERIFY_KEY) and value for name, value in environ.items())
    if scheme is not None and scheme.symmetric and given and not key_named(found.key_id or "", environ):
        err(
            f"note: {found.algorithm} takes the key as a shared secret: everyone who knows it can sign. "
            f"Write the key as {found.algorithm}:BASE64 to say that this is meant"
        )


def _unmet(found: Verification, key_id: str | None) -> str | None:
    """Return why a valid trace does not have the signature that ``--key-id`` requires."""
    if key_id is None or not found.valid or found.key_id == key_id:
        return None
    signed = f"the trace is signed by key {found.key_id!r}" if found.key_id else "the trace is unsigned"
    return f"a signature by key {key_id!r} is required, but {signed}"


def _print(found: Verification, unmet: str | None) -> None:
    good, bad, note = paint("✓", "green"), paint("✗", "red"), paint("!", "yellow")
    events, detail = f"{found.events} event{'' if found.events == 1 else 's'}", escape(found.detail)
    match found.status:
        case TraceStatus.ALTERED:
            out(f"{bad} Altered at event {found.first_bad_event}: {detail}")
            return
        case TraceStatus.TRUNCATED:
            out(f"{bad} Truncated: {detail}")
            return
    out(f"{good} Chain integrity: {events}, no breaks")
    match found.status:
        case TraceStatus.VALID:
            signer = escape(f'signed by key "{found.key_id}" ({found.algorithm})')
            out(f"{good} Signature valid: {signer}")
        case TraceStatus.UNSIGNED:
            out(f"{note} Unsigned: {detail}")
        case TraceStatus.BAD_SIGNATURE:
            out(f"{bad} Bad signature: {detail}")
        case TraceStatus.NO_KEY:
            out(f"{bad} Signed, but no key given: {detail}")
            from gert_core.keys import suffix
            from gert_core.trace.signing import VERIFY_KEY

            err(f"  hint: set {VERIFY_KEY}_{suffix(found.key_id or '')} or {VERIFY_KEY}")
        case TraceStatus.NO_ALGORITHM:
            out(f"{bad} Signed, and not checked: {detail}")
    if unmet:
        out(f"{bad} {escape(unmet[0].upper() + unmet[1:])}")


def show(
    ctx: typer.Context,
    file: Annotated[Path | None, _trace_argument()] = None,
    run: Annotated[str | None, _run_option()] = None,
    step: Annotated[
        str | None, typer.Option("--step", metavar="KEY", help="Only this step: its id or its key, and what is below.")
    ] = None,
    type: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option("--type", metavar="EVENT", help="Only events of this type.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show a trace as a timeline, nested by step."""
    from gert_core.cli.render.timeline import as_json, timeline
    from gert_core.trace.reader import read

    source = _source(file, run, store, ctx.obj)
    if isinstance(source, Path):
        if not source.is_file():
            raise UsageError(f"{source} does not exist", hint="give the path of a trace.jsonl")
        source = source.resolve()
    if json:
        document = as_json(read(source), step=step, kind=type)
        out(json_.dumps(document, ensure_ascii=False))
        shown = bool(document["events"])
    else:
        shown = False
        for line in timeline(read(source), step=step, kind=type, fatal=_fatal(source)):
            out(line)
            shown = True
    if not shown:
        err(escape(f"note: {_nothing(source, step=step, kind=type)}"))
    return 0


def _source(file: Path | None, run: str | None, store: str | None, options: Options) -> Path | StoredRun:
    """Return the file that is given, or the run."""
    if (file is None) == (run is None):
        given = "a file and a run are given" if run is not None else "no trace is given"
        raise UsageError(given, hint="give the path of a trace.jsonl, or a run with --run ID")
    if run is None:
        if store is not None:
            raise UsageError("--store is for runs", hint="give a run with --run ID, or leave --store out")
        assert file is not None  # noqa: S101 - one of them is given
        return file
    from gert_core.runs.find import find_run

    return find_run(store_here(options, store), run)


def _fatal(source: Path | StoredRun) -> set[str] | None:
    """Return the steps whose failure ended the run, which only its last event tells."""
    from gert_core.cli.render.timeline import fatal_keys
    from gert_core.runs.fold import fold
    from gert_core.trace.reader import read

    return fatal_keys(fold(read(source)))


def _nothing(source: Path | StoredRun, *, step: str | None, kind: str | None) -> str:
    """Return why no events are shown, with the steps or types that the trace has."""
    from gert_core.cli.render.timeline import wanted
    from gert_core.trace.reader import read

    place = str(source) if isinstance(source, Path) else source.place
    events = list(read(source))
    if not events:
        return f"{place} has no events"
    if step is not None and not any(wanted(event, step=step, kind=None) for event in events):
        keys = dict.fromkeys(readable_key(event.step_key) for event in events if event.step_key)
        return f"no event of {place} belongs to step {step!r}; the steps are {', '.join(keys) or 'none'}"
    types = dict.fromkeys(event.type for event in events if wanted(event, step=step, kind=None))
    return f"no event is of type {kind!r}; the types are {', '.join(types)}"


__all__ = ["check", "show", "verify_"]
