"""The variables of a run in layers: looked up through the chain, merged in order, never copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Undecided
from gert_core.template import Symbol, UndefinedVariable, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MISSING: Final = object()
RETRY_COUNT: Final = "retry_count"
STEP: Final = "step"
SCOPE: Final = "scope"
RUN: Final = "run"
RESERVED: Final = frozenset({STEP, SCOPE, RUN})


class Layer:
    """One level of variables.

    ``stays`` is False for the layer of a block that may repeat: exports and scopes written below it go through to
    the next layer that stays (``passed`` records them), and everything else in it is discarded.
    """

    __slots__ = ("exported", "owners", "parent", "passed", "retries", "run", "scopes", "stays", "steps", "vars")

    def __init__(self, parent: Layer | None = None, *, stays: bool = True) -> None:
        self.parent = parent
        self.stays = stays
        self.vars: dict[str, object] = {}
        self.steps: dict[str, object] = {}
        self.scopes: dict[str, object] = {}
        self.retries: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.exported: set[str] = set()
        self.passed: dict[str, object] = {}
        self.run: Mapping[str, object] = parent.run if parent is not None else {}

    # -- reading -------------------------------------------------------------------------------------------------

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at a template path; templates are rendered against this method."""
        head = path[0]
        layer: Layer | None = self
        while layer is not None:
            value = layer.vars.get(head, _MISSING)
            if value is not _MISSING:
                return require_known(walk_known(value, path[1:], path) if len(path) > 1 else value, path)
            if head in layer.steps:
                return self._of_step(layer.steps[head], head, path[1:], path)
            layer = layer.parent
        if head == STEP and len(path) > 1:
            return self._of_step(self.step(path[1]), path[1], path[2:], path)
        if head == SCOPE:
            return self._of_scope(path)
        if head == RUN:
            return walk(self.run, path[1:], full=path)
        return self._of_step(_MISSING, head, path[1:], path)

    def _of_step(self, entry: object, step_id: str, rest: tuple[str, ...], full: tuple[str, ...]) -> object:
        if rest and rest[0] == RETRY_COUNT and not (isinstance(entry, dict) and RETRY_COUNT in entry):
            count = self.retry_count(step_id)
            if count is not None:
                return count
        if entry is _MISSING:
            raise UndefinedVariable(full)
        return require_known(walk_known(entry, rest, full) if rest else entry, full)

    def _of_scope(self, path: tuple[str, ...]) -> object:
        found = [value for layer in self._chain() if (value := _descend(layer.scopes, path[1:])) is not _MISSING]
        if not found:
            raise UndefinedVariable(path)
        if len(found) == 1 or not isinstance(found[0], dict):
            return require_known(found[0], path)
        merged: dict[str, object] = {}
        for value in reversed(found):
            if isinstance(value, dict):
                _merge_tree(merged, value)
        return require_known(merged, path)

    def step(self, step_id: str) -> object:
        """Return the latest entry of a step, or a marker that there is none."""
        for layer in self._chain():
            if step_id in layer.steps:
                return layer.steps[step_id]
        return _MISSING

    def retry_count(self, step_id: str) -> int | None:
        """Return the jumps so far for a step of a list that is running or has run; None: no such step."""
        for layer in self._chain():
            if step_id in layer.retries:
                return layer.retries[step_id]
        return None

    def owner(self, name: str) -> str | None:
        """Return which step promoted or exported a global name; ``""`` for inputs, constants and bound names."""
        for layer in self._chain():
            if name in layer.vars:
                return layer.owners.get(name, "")
        return None

    def names_visible(self) -> dict[str, object]:
        """Return every global, step and scope visible here, as nested data (shared values, do not change them)."""
        out: dict[str, object] = {}
        scopes: dict[str, object] = {}
        for layer in reversed(list(self._chain())):
            out.update(layer.steps)
            out.update(layer.vars)
            _merge_tree(scopes, layer.scopes)
        if scopes:
            out[SCOPE] = scopes
        return out

    def globals(self) -> dict[str, object]:
        """Return promoted and exported names with their values."""
        out: dict[str, object] = {}
        for layer in reversed(list(self._chain())):
            out.update({n: v for n, v in layer.vars.items() if layer.owners.get(n)})
        return out

    def names(self) -> Iterable[str]:
        """Return names to suggest when one is undefined."""
        seen: set[str] = set(RESERVED)
        for layer in self._chain():
            seen.update(layer.vars)
            seen.update(layer.steps)
        return seen

    def _chain(self) -> Iterator[Layer]:
        layer: Layer | None = self
        while layer is not None:
            yield layer
            layer = layer.parent

    # -- writing -------------------------------------------------------------------------------------------------

    def bind(self, names: Mapping[str, object]) -> None:
        """Set names that no step owns: inputs, constants, loop variables."""
        self.vars.update(names)

    def enter_list(self, step_ids: Iterable[str]) -> None:
        """Start the counters of a list at 0, which happens each time it is entered."""
        for step_id in step_ids:
            self.retries[step_id] = 0

    def count_jump(self, step_id: str) -> None:
        """Count one more jump, in the layer where the list was entered."""
        for layer in self._chain():
            if step_id in layer.retries:
                layer.retries[step_id] += 1
                return

    def set_step(self, step_id: str, entry: object) -> None:
        """Store the value of ``.id``."""
        self.steps[step_id] = entry

    def promote(self, step_id: str, outputs: Mapping[str, object]) -> None:
        """Make outputs global within this layer; a later step replaces earlier ones."""
        for name, value in outputs.items():
            self.vars[name] = value
            self.owners[name] = step_id

    def export(self, step_id: str, name: str, value: object) -> None:
        """Make one name global in the nearest layer that stays, and visible from here at once."""
        for layer in self._chain():
            if layer.stays:
                layer.vars[name] = value
                layer.owners[name] = step_id
                layer.exported.add(name)
                return
            layer.vars.pop(name, None)
            layer.owners.pop(name, None)
            layer.passed[name] = value

    def write_scope(self, segments: tuple[str, ...], values: Mapping[str, object]) -> None:
        """Add values below a scope path in the nearest layer that stays."""
        target = next(layer for layer in self._chain() if layer.stays)
        node = target.scopes
        for segment in segments:
            below = node.get(segment)
            if not isinstance(below, dict):
                below = node[segment] = {}
            node = below
        node.update(values)

    def absorb(self, child: Layer, *, bound: frozenset[str] = frozenset(), only_exports: bool = False) -> None:
        """Merge a finished overlay: a forked block wholly, an item of a loop only by what it exported."""
        for name, value in child.vars.items():
            if name in bound or (only_exports and name not in child.exported):
                continue
            if name in child.exported:
                self.export(child.owners.get(name, ""), name, value)
            else:
                self.vars[name] = value
                self.owners[name] = child.owners.get(name, "")
        if not only_exports:
            self.steps.update(child.steps)
            self.retries.update(child.retries)
        if child.scopes:
            _merge_tree(next(layer for layer in self._chain() if layer.stays).scopes, child.scopes)


class View:
    """A layer with some names bound on top, for one expression."""

    __slots__ = ("_bound", "_layer")

    def __init__(self, layer: Layer, bound: Mapping[str, object] | None = None) -> None:
        self._layer = layer
        self._bound = bound or {}

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at a path."""
        if path[0] in self._bound:
            return walk(self._bound, path, full=path)
        return self._layer.resolve(path)

    def names(self) -> Iterable[str]:
        """Return names to suggest."""
        return {*self._bound, *self._layer.names()}


def require_known(value: object, path: tuple[str, ...]) -> object:
    """Return the value; raise ``Undecided`` when it is known only in a real run."""
    if isinstance(value, Symbol):
        raise Undecided("." + ".".join(path))
    return value


def copy_data(value: object) -> Any:
    """Return a copy of JSON-like data, so that a step cannot change the state through it."""
    if isinstance(value, dict):
        return {key: copy_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copy_data(item) for item in value]
    return value


def walk_known(value: object, rest: tuple[str, ...], full: tuple[str, ...]) -> object:
    """Return the value below another; raise ``Undecided`` when the way leads through one known only in a real run."""
    try:
        return walk(value, rest, full=full)
    except UndefinedVariable:
        for segment in rest:
            require_known(value, full)
            value = _descend(value, (segment,))
        raise


def _descend(tree: object, segments: tuple[str, ...]) -> object:
    for segment in segments:
        if isinstance(tree, dict) and segment in tree:
            tree = tree[segment]
        elif isinstance(tree, list) and segment.isdigit() and int(segment) < len(tree):
            tree = tree[int(segment)]
        else:
            return _MISSING
    return tree


def _merge_tree(into: dict[str, object], tree: Mapping[str, object]) -> None:
    for key, value in tree.items():
        below = into.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged = into[key] = dict(below)
            _merge_tree(merged, value)
        else:
            into[key] = value


__all__ = ["RESERVED", "Layer", "View", "copy_data", "require_known", "walk_known"]
