"""Refuse inputs that a runbook does not declare, without showing what may be the value of a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.giving import Giving

_LIKE_A_NAME: Final = r"[\w.-]+"


def refuse_undeclared(given: Mapping[str, object], declared: Mapping[str, object], *, giving: Giving) -> None:
    """Raise ``UsageError`` for the first given name that is not a declared input."""
    for name in given:
        if name in declared:
            continue
        from gert_core.kit.nearest import nearest  # only mistakes need it

        known = ", ".join(declared) or "none"
        if not re.fullmatch(_LIKE_A_NAME, name):  # such as `{pw:hunter2}`, where the value is part of the name
            said = f"{giving.place} gives a name" if giving.place else "a name is given"
            raise UsageError(
                f"{said} that no input can have, which is not shown here", hint=f"declared inputs: {known}"
            )
        near = nearest(name, declared)
        raise UsageError(
            f"{giving.told(name)}, which the runbook does not declare as an input",
            hint=f"did you mean {near!r}?" if near else f"declared inputs: {known}",
        )


__all__ = ["refuse_undeclared"]
