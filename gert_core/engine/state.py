"""The variables of a run in layers: looked up through the chain, merged in order, never copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import StepStatus
from gert_core.engine.trees import MISSING, descend, merge_tree, require_known, walk_known
from gert_core.template import MapResults, Symbol, UndefinedVariable, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from gert_core.documents.tree import Path, StepNode

STATUS: Final = "status"
RETRY_COUNT: Final = "retry_count"
ATTEMPTS: Final = "attempts"
STEP: Final = "step"
SCOPE: Final = "scope"
RUN: Final = "run"
FAILURE: Final = "failure"
RESERVED: Final = frozenset({STEP, SCOPE, RUN, FAILURE})
NOT_RUN: Final = "not_run"
RUNNING: Final = "running"
_OWN: Final = frozenset({STATUS, RETRY_COUNT, ATTEMPTS})
"""What every step has at ``.id`` unless an output has that name, and always at ``.step.id``."""
_OF_LOOPS: Final = frozenset({"failed", "skipped"})
"""What loops have besides at ``.step.id``."""
_FACTS: Final[Mapping[object, Mapping[str, object]]] = {
    status: {STATUS: status, ATTEMPTS: int(status not in (NOT_RUN, str(StepStatus.SKIPPED)))}
    for status in (*map(str, StepStatus), NOT_RUN, RUNNING)
}
"""One map for all steps of a status."""


class Layer:
    """One level of variables.

    ``stays`` is False for the layer of a block that may repeat: exports and scopes written below it go through to
    the next layer that stays (``passed`` records them), and everything else in it is discarded. ``loop`` is the path of
    the step or block of which the layer is one item or round.
    """

    __slots__ = (
        "book",
        "exported",
        "loop",
        "own",
        "owners",
        "parent",
        "passed",
        "retries",
        "run",
        "scopes",
        "stays",
        "steps",
        "vars",
    )

    def __init__(self, parent: Layer | None = None, *, stays: bool = True, loop: Path | None = None) -> None:
        self.parent = parent
        self.stays = stays
        self.loop = loop
        self.vars: dict[str, object] = {}
        self.steps: dict[str, object] = {}
        self.own: dict[str, Mapping[str, object]] = {}
        self.scopes: dict[str, object] = {}
        self.retries: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.exported: dict[str, tuple[str, object]] = {}
        """By name: the step that exported it last, and the value."""
        self.passed: dict[str, object] = {}
        self.run: Mapping[str, object] = parent.run if parent is not None else {}
        self.book: Mapping[str, StepNode] = parent.book if parent is not None else {}

    # -- reading -------------------------------------------------------------------------------------------------

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at a template path; templates are rendered against this method."""
        head = path[0]
        layer: Layer | None = self
        while layer is not None:
            value = layer.vars.get(head, MISSING)
            if value is not MISSING:
                if len(path) == 1 and not isinstance(value, Symbol):
                    return value
                return require_known(walk_known(value, path[1:], path) if len(path) > 1 else value, path)
            if head in layer.steps:
                return self._of_step(layer.steps[head], head, path[1:], path)
            layer = layer.parent
        if head == STEP and len(path) > 1:
            if len(path) == 3 and (own := self._own(path[1], path[2])) is not MISSING:
                return require_known(own, path)
            return self._of_step(self.step(path[1]), path[1], path[2:], path)
        if head == SCOPE:
            return self._of_scope(path)
        if head == RUN:
            return walk(self.run, path[1:], full=path)
        return self._of_step(MISSING, head, path[1:], path)

    def _of_step(self, entry: object, step_id: str, rest: tuple[str, ...], full: tuple[str, ...]) -> object:
        if (
            len(rest) == 1
            and rest[0] in _OWN
            and not (isinstance(entry, dict) and rest[0] in entry)
            and (own := self._own(step_id, rest[0])) is not MISSING
        ):
            return require_known(own, full)
        if entry is MISSING:
            if self._lacks(step_id, rest):
                return None
            raise UndefinedVariable(full)
        try:
            return require_known(walk_known(entry, rest, full) if rest else self._whole(step_id, entry), full)
        except UndefinedVariable:
            if self._lacks(step_id, rest):
                return None
            raise

    def _lacks(self, step_id: str, rest: tuple[str, ...]) -> bool:
        """Return whether a path leads to a field of a step that has not come so far: that is null, not undefined."""
        node = self.book.get(step_id)
        if node is None or len(rest) != 1 or rest[0] not in node.type.fields or node.fields.for_each is not None:
            return False
        return self._inside(step_id)

    def _own(self, step_id: str, name: str) -> object:
        """Return something about a step itself, or a marker: a step has a status before it has run, too."""
        facts = self.facts(step_id)
        if name == RETRY_COUNT:
            count = (facts or {}).get(RETRY_COUNT, self.retry_count(step_id))
            return MISSING if count is None else count
        if facts is None:
            if name not in (STATUS, ATTEMPTS, *_OF_LOOPS) or not self._inside(step_id):
                return MISSING
            facts = _FACTS[NOT_RUN]
        node = self.book.get(step_id)
        loop = node is not None and node.fields.for_each is not None
        if name == ATTEMPTS:  # a loop has items, and each of them its attempts
            unknown = isinstance(facts[STATUS], Symbol)  # it may have been skipped
            found = Symbol(f"{{{{ .{step_id}.{ATTEMPTS} }}}}") if unknown else facts.get(ATTEMPTS, 1)
            return MISSING if loop else found
        found = facts.get(name, MISSING)
        return [] if found is MISSING and name in _OF_LOOPS and loop else found

    def facts(self, step_id: str) -> Mapping[str, object] | None:
        """Return the latest status of a step, with what else is known about it; None when it has not been opened."""
        for layer in self._chain():
            if step_id in layer.own:
                return layer.own[step_id]
        return None

    def _inside(self, step_id: str) -> bool:
        """Return whether a step is readable here: a step inside a loop is so only in an item or round of it."""
        node = self.book.get(step_id)
        if node is None:
            return False
        around = set(node.loops_around())
        return not around or around <= {layer.loop for layer in self._chain()}

    def _whole(self, step_id: str, entry: object) -> object:
        """Return the value of ``.id``: of a step its status, fields and outputs, of a loop its results."""
        if not isinstance(entry, dict) or isinstance(entry, MapResults):
            return entry
        facts = self.facts(step_id)
        return entry if facts is None else {STATUS: facts[STATUS], **entry}

    def _of_scope(self, path: tuple[str, ...]) -> object:
        found = [value for layer in self._chain() if (value := descend(layer.scopes, path[1:])) is not MISSING]
        if not found:
            raise UndefinedVariable(path)
        if len(found) == 1 or not isinstance(found[0], dict):
            return require_known(found[0], path)
        merged: dict[str, object] = {}
        for value in reversed(found):
            if isinstance(value, dict):
                merge_tree(merged, value)
        return require_known(merged, path)

    def step(self, step_id: str) -> object:
        """Return the latest fields and outputs of a step, or the results of a loop; a marker when there are none."""
        for layer in self._chain():
            if step_id in layer.steps:
                return layer.steps[step_id]
        return MISSING

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

    def exporter(self, name: str) -> str | None:
        """Return the step that exported a name last, also if another one has promoted it since."""
        for layer in self._chain():
            if name in layer.exported:
                return layer.exported[name][0]
        return None

    def names_visible(self) -> dict[str, object]:
        """Return every global, step and scope visible here, as nested data (shared values, do not change them)."""
        out: dict[str, object] = {}
        scopes: dict[str, object] = {}
        for layer in reversed(list(self._chain())):
            out.update({step_id: self._whole(step_id, entry) for step_id, entry in layer.steps.items()})
            out.update(layer.vars)
            merge_tree(scopes, layer.scopes)
        if scopes:
            out[SCOPE] = scopes
        return out

    def globals(self) -> dict[str, object]:
        """Return promoted and exported names with their values."""
        out: dict[str, object] = {}
        for layer in reversed(list(self._chain())):
            out.update({n: v for n, v in layer.vars.items() if layer.owners.get(n)})
        return out

    def owned_by(self, step_ids: Container[str]) -> dict[str, str]:
        """Return the promoted and exported names that one of these steps set, each with the step."""
        found: dict[str, str] = {}
        for layer in self._chain():
            for name in layer.vars:
                found.setdefault(name, layer.owners.get(name, ""))
        return {name: owner for name, owner in found.items() if owner and owner in step_ids}

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

    def enter_list(self, step_ids: Sequence[str], inside: Callable[[], Iterable[str]]) -> None:
        """Start the counters of a list at 0, which happens each time it is entered.

        If it was entered before, the steps ``inside`` it have not run in this pass.
        """
        again = bool(step_ids) and self.retry_count(step_ids[0]) is not None
        for step_id in step_ids:
            self.retries[step_id] = 0
        if again:
            for step_id in inside():
                if self.facts(step_id) is not None:
                    self.own[step_id] = _FACTS[NOT_RUN]

    def count_jump(self, step_id: str) -> None:
        """Count one more jump, in the layer where the list was entered."""
        for layer in self._chain():
            if step_id in layer.retries:
                layer.retries[step_id] += 1
                return

    def set_step(self, step_id: str, entry: object, status: object, **facts: object) -> None:
        """Store fields and outputs of a step, or the results of a loop, with its status and other facts about it."""
        self.steps[step_id] = entry
        self.own[step_id] = {STATUS: status, **facts} if facts or isinstance(status, Symbol) else _FACTS[status]

    def set_status(self, step_id: str, status: object, **facts: object) -> None:
        """Set the status of a step; its fields and outputs stay as they were."""
        self.own[step_id] = {STATUS: status, **facts} if facts or isinstance(status, Symbol) else _FACTS[status]

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
                layer.exported[name] = step_id, value
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

    def take_round(self, child: Layer, *, bound: str) -> None:
        """Take what one round of a block has set in front of what the rounds before it did."""
        for name, value in child.vars.items():
            if name != bound:
                self.vars[name] = value
                self.owners[name] = child.owners.get(name, "")
        for name in child.passed:  # the exported value is further out
            self.vars.pop(name, None)
        self.steps.update(child.steps)
        self.own.update(child.own)

    def absorb(self, child: Layer, *, bound: frozenset[str] = frozenset(), only_exports: bool = False) -> None:
        """Merge a finished overlay: a forked block wholly, an item of a loop only by what it exported."""
        for name, (step_id, value) in child.exported.items():
            self.export(step_id, name, value)
        for name, value in () if only_exports else child.vars.items():
            owner = child.owners.get(name, "")
            if name in bound or (name in child.exported and child.exported[name][0] == owner):
                continue
            self.vars[name] = value
            self.owners[name] = owner
        if not only_exports:
            self.steps.update(child.steps)
            self.own.update(child.own)
            self.retries.update(child.retries)
        if child.scopes:
            merge_tree(next(layer for layer in self._chain() if layer.stays).scopes, child.scopes)


__all__ = ["FAILURE", "NOT_RUN", "RESERVED", "RUNNING", "STATUS", "Layer"]
