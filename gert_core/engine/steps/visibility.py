"""Filter the variables of a step by allow and deny globs over paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gert_core.api import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.parts import VisibilityModel
    from gert_core.engine.steps.execution import StepExecution

Segments = tuple[str, ...]


def visible(tree: Mapping[str, object], rule: VisibilityModel | None) -> dict[str, object]:
    """Return the part of the variables that a rule allows; a match covers everything below it, deny wins."""
    if rule is None:
        return dict(tree)
    allow = None if rule.allow is None else [_segments(glob) for glob in rule.allow]
    return _filter(tree, (), allow=allow, deny=[_segments(glob) for glob in rule.deny])


def trace_visibility(execution: StepExecution, rule: VisibilityModel) -> None:
    """Trace which variables a step sees, by their hash."""
    view = visible(execution.layer.names_visible(), rule)
    data = {"step_id": execution.compiled.id, "allow": rule.allow, "deny": rule.deny}
    execution.add(EventType.VISIBILITY_APPLIED, {**data, "filtered_view_hash": execution.services.digest(view)})


def _segments(glob: str) -> Segments:
    return tuple(part for part in re.split(r"[./]", glob) if part)


def _filter(
    tree: Mapping[str, object], path: Segments, *, allow: Sequence[Segments] | None, deny: Sequence[Segments]
) -> dict[str, object]:
    out: dict[str, object] = {}
    for name, value in tree.items():
        here = (*path, str(name))
        if any(_matches(glob, here) for glob in deny):
            continue
        covered = allow is None or any(_matches(glob, here) for glob in allow)
        if not covered and not any(_may_match_below(glob, here) for glob in allow or ()):
            continue
        if isinstance(value, dict):
            below = _filter(value, here, allow=None if covered else allow, deny=deny)
            if covered or below:
                out[name] = below
        elif covered:
            out[name] = value
    return out


def _matches(glob: Segments, path: Segments) -> bool:
    """Return whether the whole glob matches the whole path; ``**`` matches any number of segments."""
    if not glob:
        return not path
    if glob[0] == "**":
        return any(_matches(glob[1:], path[i:]) for i in range(len(path) + 1))
    return bool(path) and glob[0] in ("*", path[0]) and _matches(glob[1:], path[1:])


def _may_match_below(glob: Segments, path: Segments) -> bool:
    if not path:
        return bool(glob)
    if not glob:
        return False
    if glob[0] == "**":
        return True
    return glob[0] in ("*", path[0]) and _may_match_below(glob[1:], path[1:])


__all__ = ["trace_visibility", "visible"]
