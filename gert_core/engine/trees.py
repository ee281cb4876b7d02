"""Values of variables as trees: following paths, merging and copying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Undecided
from gert_core.engine.again import SecretNeeded
from gert_core.secrets import LostSecret
from gert_core.template import Symbol, UndefinedVariable, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

MISSING: Final = object()
"""What is found where nothing is."""


def require_known(value: object, path: tuple[str, ...]) -> object:
    """Return the value; raise ``Undecided`` when it is known only in a real run."""
    if isinstance(value, Symbol):
        if isinstance(value, LostSecret):
            raise SecretNeeded(value.name)
        raise Undecided("." + ".".join(path))
    return value


def copy_data(value: object) -> Any:
    """Return a copy of JSON-like data, so that a step cannot change the state through it."""
    if isinstance(value, dict):
        return {key: copy_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_data(item) for item in value]
    return value


def walk_known(value: object, rest: tuple[str, ...], full: tuple[str, ...]) -> object:
    """Return the member of a value at a path; raise ``Undecided`` rather than ``UndefinedVariable`` below a symbol."""
    try:
        return walk(value, rest, full=full)
    except UndefinedVariable:
        for segment in rest:
            require_known(value, full)
            value = descend(value, (segment,))
        raise


def descend(tree: object, segments: tuple[str, ...]) -> object:
    """Return the part of a tree at a path, or ``MISSING``."""
    for segment in segments:
        if isinstance(tree, dict) and segment in tree:
            tree = tree[segment]
        elif isinstance(tree, list) and segment.isdigit() and int(segment) < len(tree):
            tree = tree[int(segment)]
        else:
            return MISSING
    return tree


def merge_tree(into: dict[str, object], tree: Mapping[str, object]) -> None:
    """Add a tree to another one; maps that both have are merged, and not changed themselves."""
    for key, value in tree.items():
        below = into.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged = into[key] = dict(below)
            merge_tree(merged, value)
        else:
            into[key] = value


__all__ = ["MISSING", "copy_data", "descend", "merge_tree", "require_known", "walk_known"]
