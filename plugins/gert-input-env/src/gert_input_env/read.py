"""Resolve ``env/NAME``: the value of a variable; without one the input gets its default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Deadline, InputBinding, Services

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYS: Final = re.compile(r"GERT_.*_KEY.*")


def resolve(bindings: Sequence[InputBinding], deadline: Deadline, services: Services) -> Mapping[str, str]:
    """Return the variables that are set; a variable set to nothing is an empty string."""
    del deadline
    given = {}
    for binding in bindings:
        name = binding.path
        if not _NAME.fullmatch(name):
            raise InputError(
                f"the input {binding.name!r} is `from: {binding.source}`, which is not a valid variable name",
                hint="write env/NAME",
            )
        if _KEYS.fullmatch(name):
            raise InputError(
                f"the input {binding.name!r} is from {name}; gert's own keys cannot be inputs",
                hint="use a variable of your own",
            )
        if name in services.environ:
            given[binding.name] = services.environ[name]
    return given


__all__ = ["resolve"]
