"""What is wrong with the inputs of a call, said to a caller that has arguments and no command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, GertError, UsageError
from gert_core.kit.nearest import nearest
from gert_mcp.schemas import is_needed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_mcp.books import ServedBook

_PLACE: Final = re.compile(r" \(declared at [^)]*\)")


def refuse_inputs(book: ServedBook, given: Mapping[str, Any]) -> None:
    """Raise ``UsageError`` for inputs that the runbook does not take, that are secret, or that are missing."""
    open_ = [name for name, model in book.inputs.items() if not model.secret]
    for name in given:
        if name not in book.inputs:
            near = nearest(name, open_)
            known = f"it takes {', '.join(open_)}" if open_ else "it takes none"
            raise UsageError(
                f"the runbook takes no input {name!a}",
                kind=ErrorKind.INPUT,
                hint=f"did you mean {near!r}?" if near else known,
            )
        if book.inputs[name].secret:
            raise UsageError(
                f"input {name!r} is a secret, which no agent gives",
                hint="give it `from:` a variable of the server, or a person runs the runbook",
            )
    if missing := [name for name in open_ if is_needed(book.inputs[name]) and given.get(name) is None]:
        told = ", ".join(f"{name!r} ({book.inputs[name].type})" for name in missing)
        raise UsageError(
            f"{'inputs are' if len(missing) > 1 else 'an input is'} missing: {told}",
            kind=ErrorKind.INPUT,
            hint="give it as an argument of the runbook's tool, or in `vars` of gert_exec",
        )


def as_arguments(error: GertError) -> GertError:
    """Return what is wrong with a value as a caller of a tool can use it: without absolute paths."""
    if error.kind != ErrorKind.INPUT:
        return error
    return UsageError(_PLACE.sub("", error.message), kind=error.kind, hint=error.hint)


__all__ = ["as_arguments", "refuse_inputs"]
