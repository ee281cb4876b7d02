"""The secrets of a recorded run that the environment of another process knows, to hide them in what people write."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import RunError, UsageError
from gert_core.governance.people import id_fault
from gert_core.secrets import MINIMUM, Masker, own_secrets
from gert_core.secrets.collect import leaves
from gert_core.secrets.environ import provider_variables
from gert_core.values import coerce_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.api import StoredRun
    from gert_core.runs.state import RunState

_TYPES: Final[dict[type, str]] = {list: "list", dict: "object"}


def run_masker(run: StoredRun, state: RunState, environ: Mapping[str, str]) -> Masker:
    """Return what masks the secrets of the run that this process knows; the run puts them back.

    These are its declared secrets, its secret inputs that come from the environment, and gert's own. What was typed,
    given with the command or came from elsewhere is known to the processes of the run only.
    """
    names = [str(name) for name in state.facts.get("secrets") or ()]
    known: dict[str, str | float | None] = {
        name: environ[name] for name in names if len(environ.get(name, "")) >= MINIMUM
    }
    for label, leaf in _inputs(state, environ):
        if len(str(leaf)) >= MINIMUM:
            # The name that the masker of the run has for it.
            known[label if known.get(label, leaf) == leaf else f"input.{label}"] = leaf
    return Masker(known, always=own_secrets(environ, run.secrets))


def _inputs(state: RunState, environ: Mapping[str, str]) -> Iterator[tuple[str, str | float]]:
    """Yield the simple values in secret inputs, as far as they come from variables that are set."""
    recorded = state.facts.get("inputs") or {}
    for name, source in state.secret_inputs.items():
        for text in filter(None, map(environ.get, provider_variables(source))):
            yield from leaves(name, _value(text, _TYPES.get(type(recorded.get(name)))))


def _value(text: str, kind: str | None) -> object:
    """Return the value that a text stands for; another text than the run had need not be of the type."""
    try:
        return text if kind is None else coerce_text(text, kind)
    except ValueError:
        return text


def refuse_secret(masker: Masker, what: str, text: str, *, flag: str) -> None:
    """Refuse a key or a name, which events have as it is, with a secret in it."""
    if masker.mask_text(text) != text:
        raise UsageError(f"the {what} has a secret of the run in it", hint=f"give another with {flag}")


def refuse_given(masker: Masker, actor: str, trace: Path | None) -> None:
    """Refuse a secret in what is given for a run: the name of who starts it, the name of its trace."""
    refuse_secret(masker, "name", actor, flag="--as")
    if trace is not None:
        refuse_secret(masker, "name of the trace", trace.name, flag="--trace")


def secrets_of(run: StoredRun, environ: Mapping[str, str]) -> Masker:
    """Return the same of a run by its trace; of one that cannot be read gert's own secrets are known."""
    from gert_core.runs.cache import read_state
    from gert_core.runs.state import RunState

    state = RunState()
    with suppress(RunError):  # a ticket without a trace beside it says nothing of secrets
        state = read_state(run)
    return run_masker(run, state, environ)


def hide(masker: Masker, value: Any) -> Any:
    """Return data of another run, which is masked already, without the secrets of this one; its own masks stay."""
    if isinstance(value, str):
        return masker.mask_text(value) if masker.hits(value) else value
    if isinstance(value, (list, tuple)):
        return [hide(masker, item) for item in value]
    if hasattr(value, "keys"):
        return {hide(masker, key): hide(masker, value[key]) for key in value}
    return masker.mask(value)


def refuse_actor(run: StoredRun, by: str, environ: Mapping[str, str]) -> None:
    """Refuse a name of who does something about a run that is not a valid id or holds a secret: it is kept as it is."""
    if (fault := id_fault(by)) is not None:
        raise UsageError(f"{by!a} cannot be the id of an actor: it {fault}", hint="give another with --as ID")
    refuse_secret(secrets_of(run, environ), "name", by, flag="--as")


def refuse_secrets(run: StoredRun, reason: str, name: str, environ: Mapping[str, str]) -> None:
    """Refuse a reason or a name with a secret in it: an answer to a ticket is kept, and signed, as it is."""
    masker = secrets_of(run, environ)
    refuse_secret(masker, "reason", reason, flag="--reason")
    refuse_secret(masker, "name", name, flag="--as")


__all__ = ["hide", "refuse_actor", "refuse_given", "refuse_secret", "refuse_secrets", "run_masker", "secrets_of"]
