"""Check the constant regular expressions of ``matches`` and ``regexReplace`` in templates before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.template import TemplateError, check_pattern
from gert_core.template.functions import FUNCTIONS
from gert_core.template.tree import Const

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.validation.domain.scalars import FoundCall

_SEARCHING: Final = {name: FUNCTIONS[name] for name in ("matches", "regexReplace")}


def pattern_errors(calls: Iterable[FoundCall]) -> tuple[TemplateError, ...]:
    """Return what is wrong with the constant patterns among the calls of a template, each at its expression."""
    found = []
    for offset, call in calls:
        function = _SEARCHING.get(call.function.name)
        if function is None:
            continue
        # The filter takes its subject first, the function takes it last.
        pattern = call.args[0 if call.function is function else 1]
        if isinstance(pattern, Const) and isinstance(pattern.value, str):
            try:
                check_pattern(pattern.value)
            except TemplateError as error:
                error.offset = offset
                found.append(error)
    return tuple(found)


__all__ = ["pattern_errors"]
