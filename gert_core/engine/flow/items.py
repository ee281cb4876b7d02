"""The items of a loop: position, value and result of each, and one output of all of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from gert_core.api import Principal, StepStatus
from gert_core.engine.state import ATTEMPTS, NOT_RUN, RETRY_COUNT, STATUS
from gert_core.engine.trees import MISSING, descend
from gert_core.template import ListResults, MapResults, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.documents.tree import StepNode
    from gert_core.engine.progress import Progress, StepInfo
    from gert_core.engine.state import Layer

ITEM_NOT_RUN: Final[Mapping[str, object]] = {STATUS: NOT_RUN, "failure": None}


class ItemCount:
    """How many items of a loop are over, for a listener that watches; items may end in several threads."""

    __slots__ = ("_counts", "_info", "_lock", "_progress", "_total")

    def __init__(self, progress: Progress, info: StepInfo, total: int) -> None:
        self._progress = progress
        self._info = info
        self._total = total
        self._lock = threading.Lock()
        self._counts = [0, 0, 0]
        self.add(None)

    def add(self, status: StepStatus | None) -> None:
        """Count an item that is over; None at the start of the loop."""
        with self._lock:  # with the call, so that the numbers that are told only grow
            if status is not None:
                self._counts[0] += 1
                self._counts[1] += status in (StepStatus.FAILED, StepStatus.ERROR)
                self._counts[2] += status is StepStatus.SKIPPED
            done, failed, skipped = self._counts
            self._progress.items(self._info, done=done, failed=failed, skipped=skipped, total=self._total)


class Item:
    """One item: its position, its value and its result; everything else of it exists only while it runs."""

    __slots__ = ("facts", "index", "kept", "name", "outputs", "scope", "status", "value")

    def __init__(self, index: int, value: object, facts: Mapping[str, object] = ITEM_NOT_RUN) -> None:
        self.index = index
        self.value = value
        self.name: str | None = None
        self.status: StepStatus | None = None
        """``None`` while it has not run."""
        self.outputs: dict[str, object] | None = None
        self.scope: tuple[str, ...] | None = None
        self.kept: Layer | None = None
        """Its variables, if the loop takes something from them."""
        self.facts = facts
        """What is looked up beside its outputs: status, failure and fields, and the steps inside it."""

    @property
    def label(self) -> str:
        """The key of the item, or its number."""
        return str(self.index) if self.name is None else self.name

    @property
    def ran(self) -> bool:
        """Whether it was executed and not skipped."""
        return self.status is not None and self.status is not StepStatus.SKIPPED

    @property
    def uncertain(self) -> bool:
        """Whether its status is known only in a real run."""
        return isinstance(self.facts[STATUS], Symbol)


class SortedOut:
    """The keys (or indexes) of the items that failed, and of those that were skipped, of the items so far."""

    __slots__ = ("_keyed", "failed", "skipped", "unknown")

    def __init__(self, items: Iterable[Item], *, keyed: bool, unknown: bool) -> None:
        self._keyed = keyed
        self.unknown = unknown
        """Whether only a real run knows them."""
        self.failed: list[object] = []
        self.skipped: list[object] = []
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Take an item that is over, or has not run."""
        self.unknown |= item.uncertain
        if item.status is StepStatus.SKIPPED:
            self.skipped.append(item.label if self._keyed else item.index)
        elif item.status is not None and item.status is not StepStatus.SUCCESS:
            self.failed.append(item.label if self._keyed else item.index)

    def facts(self, step_id: str) -> dict[str, object]:
        """Return them as what is known about the step of the loop."""
        if self.unknown:
            return {name: Symbol(f"{{{{ .step.{step_id}.{name} }}}}") for name in ("failed", "skipped")}
        return {"failed": self.failed, "skipped": self.skipped}


def agent_of(value: object) -> Principal | None:
    """Return the agent that an item names by ``id`` and ``role``."""
    if not isinstance(value, dict):
        return None
    name, role = value.get("id"), value.get("role")
    return Principal(kind="agent", id=name, role=role) if isinstance(name, str) and isinstance(role, str) else None


def steps_inside(node: StepNode) -> dict[str, Mapping[str, object]]:
    """Return the steps of one item by id, except those of loops inside it, as they are before they have run."""
    return {
        step.id: {**dict.fromkeys(step.type.fields), STATUS: NOT_RUN, ATTEMPTS: 0, RETRY_COUNT: 0}
        for step in node.inside()
    }


def came_out(steps: Mapping[str, Mapping[str, object]], layer: Layer) -> dict[str, object]:
    """Return what became of the steps inside an item whose variables are ``layer``: results, fields, status."""
    found: dict[str, object] = {}
    for step_id, before in steps.items():
        entry, own = layer.steps.get(step_id), layer.own.get(step_id)
        if own is None:
            found[step_id] = before
        elif isinstance(entry, (MapResults, ListResults, Symbol)):
            found[step_id] = entry
        else:
            counted = {RETRY_COUNT: layer.retries.get(step_id, 0)}
            found[step_id] = {**before, **counted, **own, **(entry if isinstance(entry, dict) else {})}
    return found


def values_of(results: object, name: str, path: tuple[str, ...]) -> object:
    """Return one output, or field, of every item; null where an item has none."""
    if isinstance(results, MapResults):
        return {key: _member(value, results.facts[key], path) for key, value in results.items()}
    if isinstance(results, ListResults):
        return [_member(value, facts, path) for value, facts in zip(results, results.facts, strict=True)]
    return Symbol(f"{{{{ .{name} }}}}")


def _member(outputs: object, facts: Mapping[str, object], path: tuple[str, ...]) -> object:
    found = descend(outputs, path)
    if found is MISSING:
        found = descend(facts, path)
    return None if found is MISSING else found


__all__ = ["ITEM_NOT_RUN", "Item", "ItemCount", "SortedOut", "agent_of", "came_out", "steps_inside", "values_of"]
