"""Globs of ``visibility`` show what their plain definition shows, whichever way they are matched."""

from __future__ import annotations

import os
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gert_core.documents.parts import VisibilityModel
from gert_core.engine.steps.visibility import visible

EXAMPLES = settings(
    max_examples=50_000 if os.environ.get("GERT_FUZZ") else 1_000,
    derandomize=not os.environ.get("GERT_FUZZ"),
    deadline=None,
    database=None,
)


def matches(glob: list[str], path: list[str]) -> bool:
    """Whether a whole glob matches a whole path."""
    if not glob:
        return not path
    if glob[0] == "**":
        return any(matches(glob[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and glob[0] in ("*", path[0]) and matches(glob[1:], path[1:])


def leads_below(glob: list[str], path: list[str]) -> bool:
    """Whether a glob may match something below a path."""
    if not path:
        return bool(glob)
    if not glob:
        return False
    return glob[0] == "**" or (glob[0] in ("*", path[0]) and leads_below(glob[1:], path[1:]))


def shown(tree: dict[str, Any], allow: list[list[str]] | None, deny: list[list[str]], path: list[str]) -> dict:
    """The part of a tree that is allowed."""
    out = {}
    for name, value in tree.items():
        here = [*path, name]
        covered = allow is None or any(matches(glob, here) for glob in allow)
        reached = covered or any(leads_below(glob, here) for glob in allow or ())
        if not reached or any(matches(glob, here) for glob in deny):
            continue
        if isinstance(value, dict):
            below = shown(value, None if covered else allow, deny, here)
            if covered or below:
                out[name] = below
        elif covered:
            out[name] = value
    return out


def parts(glob: str) -> list[str]:
    return [part for part in re.split(r"[./]", glob) if part]


names = st.sampled_from(["a", "b", "*", "**"])
trees = st.recursive(
    st.dictionaries(names, st.integers(0, 1), max_size=3),
    lambda inner: st.dictionaries(names, inner | st.integers(0, 1), max_size=3),
    max_leaves=12,
)
segments = st.sampled_from(["a", "b", "*", "**", "**", "", "ab"])
globs = st.lists(
    st.builds(
        lambda given, between: between.join(given) or between,
        st.lists(segments, max_size=6),
        st.sampled_from("./"),
    ),
    max_size=3,
)


@given(tree=trees, allow=st.none() | globs, deny=globs)
@EXAMPLES
def test_globs_show_what_their_definition_shows(tree, allow, deny):
    wanted = shown(tree, None if allow is None else [*map(parts, allow)], [*map(parts, deny)], [])
    rule = VisibilityModel.model_validate({"deny": deny} if allow is None else {"allow": allow, "deny": deny})
    assert visible(tree, rule) == wanted
