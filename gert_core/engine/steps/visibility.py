"""Filter the variables of a step by allow and deny globs over paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.documents.parts import VisibilityModel
    from gert_core.engine.steps.execution import StepExecution

_SEPARATOR: Final = re.compile(r"[./]")
_BELOW: Final = "**"


def visible(tree: Mapping[str, object], rule: VisibilityModel | None) -> dict[str, object]:
    """Return the part of the variables that a rule allows; a match covers everything below it, deny wins."""
    if rule is None:
        return dict(tree)
    allow = None if rule.allow is None else _Globs(rule.allow)
    deny = _Globs(rule.deny)
    return _filter(tree, allow, allow.first if allow is not None else 0, deny, deny.first)


def trace_visibility(execution: StepExecution, rule: VisibilityModel) -> None:
    """Trace which variables a step sees, by their hash."""
    view = visible(execution.layer.names_visible(), rule)
    data = {"step_id": execution.compiled.id, "allow": rule.allow, "deny": rule.deny}
    execution.add(EventType.VISIBILITY_APPLIED, {**data, "filtered_view_hash": execution.services.digest(view)})


class _Globs:
    """Globs over paths, matched together one segment of a path at a time; ``**`` matches any number of segments.

    A state is the set of places that a path may have reached in the globs, as the bits of a number: one bit for each
    segment of a glob, set while that segment is the next one, and one behind the last, set when the glob has matched.
    However many ``**`` there are, a step takes as long.
    """

    __slots__ = ("_any", "_ends", "_named", "_rest", "first")

    def __init__(self, globs: Iterable[str]) -> None:
        self._named: dict[str, int] = {}
        self._any = self._rest = self._ends = 0
        first, bit = 0, 1
        for glob in globs:
            first |= bit
            before = None
            for segment in filter(None, _SEPARATOR.split(glob)):
                if segment == before == _BELOW:
                    continue  # matches the same as one of them
                if segment == _BELOW:
                    self._rest |= bit
                elif segment == "*":
                    self._any |= bit
                else:
                    self._named[segment] = self._named.get(segment, 0) | bit
                before = segment
                bit <<= 1
            self._ends |= bit
            bit <<= 1
        self.first = self._beyond(first)
        """The state before any segment."""

    def after(self, state: int, segment: str) -> int:
        """Return the state behind one more segment of a path."""
        read = state & (self._any | self._named.get(segment, 0))
        return self._beyond((read << 1) | (state & self._rest))

    def _beyond(self, state: int) -> int:
        """Return a state with what follows each ``**``, which may match nothing; no two of them stand together."""
        return state | ((state & self._rest) << 1)

    def match(self, state: int) -> bool:
        """Return whether a glob matches the path so far."""
        return bool(state & self._ends)

    def may_match(self, state: int) -> bool:
        """Return whether a glob may match what is below the path so far."""
        return bool(state & ~self._ends)


def _filter(
    tree: Mapping[str, object], allow: _Globs | None, allowed: int, deny: _Globs, denied: int
) -> dict[str, object]:
    """Return the part of a tree that is allowed; without ``allow`` all of it is, but for what is denied."""
    out: dict[str, object] = {}
    for name, value in tree.items():
        no = deny.after(denied, str(name))
        if deny.match(no):
            continue
        yes = 0 if allow is None else allow.after(allowed, str(name))
        covered = allow is None or allow.match(yes)
        if allow is not None and not covered and not allow.may_match(yes):
            continue
        if isinstance(value, dict):
            below = _filter(value, None if covered else allow, yes, deny, no)
            if covered or below:
                out[name] = below
        elif covered:
            out[name] = value
    return out


__all__ = ["trace_visibility", "visible"]
