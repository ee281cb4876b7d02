"""Give the steps of a graph the statuses they have in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.errors import RunError, UsageError
from gert_core.api.results import RunStatus
from gert_core.kit.escaping import escape
from gert_core.runs.state import parent_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.documents.tree import Runbook
    from gert_core.graph.model import Graph, GraphBlock, GraphStep
    from gert_core.runs.listing import RunInfo

_WORST: Final = ("error", "failed", "denied", "interrupted", "running", "open")
"""Of several items of a loop the status that is shown is the first of these; else that of any that was not skipped."""

_WAITING: Final = (str(RunStatus.ANSWER_PENDING), str(RunStatus.BLOCKED))
"""The statuses of steps that wait for people, beside those with a ticket."""


def of_run(graph: Graph, book: Runbook, info: RunInfo) -> Graph:
    """Return the graph of a runbook with a run of it; raise when the run is unreadable, or one of another runbook."""
    if info.state is None:
        raise RunError(f"run {info.run_id} cannot be read: {info.problem}")
    if info.state.runbook != book.name:
        raise UsageError(
            f"run {info.run_id} is one of the runbook {escape(info.state.runbook)!r}, not of {book.name!r}",
            hint=f"`gert runs show {info.run_id}` shows this run, `gert runs list` lists others",
        )
    return with_run(graph, info)


def changed_since(book: Runbook, info: RunInfo) -> bool:
    """Return whether a runbook is not the same any more as when a run of it was started."""
    return info.state is not None and info.state.facts.get("runbook_hash") != book.document.digest


def with_run(graph: Graph, info: RunInfo) -> Graph:
    """Return the graph with what became of each step in a run."""
    if info.state is None:
        return replace(graph, run_id=info.run_id, run_status=info.status)
    numbered = numbered_steps(graph)
    found: dict[str, dict[str, str]] = {}
    counts: dict[tuple[str, bool], int] = {}
    for record in info.state.steps.values():
        key, items = place_in(record.key, numbered)
        # A later round or visit replaces an earlier one; items of loops stand beside each other.
        found.setdefault(key, {})[items] = info.step_status(record)
        counts[key, bool(items)] = counts.get((key, bool(items)), 0) + 1
    asked = [str(ticket.get("step_key")) for ticket in info.state.tickets.values()]
    asking = [key for key, record in info.state.steps.items() if info.step_status(record) in _WAITING]
    waiting = {place_in(key, numbered)[0] for key in asked}
    if not info.live:
        waiting |= _around((*asked, *asking), numbered)
    shown = {key: "waiting" if key in waiting else _worst(by_item) for key, by_item in found.items()}
    # Of a loop its items count, not the step around them.
    ran = {key: counts.get((key, True)) or counts[key, False] for key, _ in counts}
    blocks = tuple(_block(block, shown, ran) for block in graph.blocks)
    return replace(graph, blocks=blocks, run_id=info.run_id, run_status=info.status)


def _around(keys: Iterable[str], numbered: set[str]) -> set[str]:
    """Return the keys that the graph has for the steps around some that wait: nothing of them is running."""
    found: set[str] = set()
    for key in keys:
        while key := parent_key(key):
            found.add(place_in(key, numbered)[0])
    return found


def numbered_steps(graph: Graph) -> set[str]:
    """Return the keys of the steps whose blocks are told apart by number: several runbooks are included there."""
    return {step.key for step in graph.walk() if sum(bool(block.included) for block in step.blocks) > 1}


def place_in(key: str, numbered: set[str]) -> tuple[str, str]:
    """Return the key that the graph has for a step key, and the labels of the items that it is in."""
    names: list[str] = []
    items = []
    for part in key.split("/"):
        if part.isdigit():
            if "/".join(names) in numbered:
                names.append(part)
        elif not part.startswith("@"):
            name, bracket, item = part.partition("[")
            names.append(name.partition("#")[0])
            items += [item] if bracket else []
    return "/".join(names), "/".join(items)


def _worst(by_item: Mapping[str, str]) -> str:
    # The loop itself has no item in its key, and a status of its own once it is over.
    statuses = list(by_item.values())
    return next((s for s in _WORST if s in statuses), next((s for s in statuses if s != "skipped"), statuses[0]))


def _block(block: GraphBlock, shown: Mapping[str, str], counts: Mapping[str, int]) -> GraphBlock:
    return replace(block, steps=tuple(_step(step, shown, counts) for step in block.steps))


def _step(step: GraphStep, shown: Mapping[str, str], counts: Mapping[str, int]) -> GraphStep:
    blocks = tuple(_block(block, shown, counts) for block in step.blocks)
    return replace(step, blocks=blocks, status=shown.get(step.key, ""), runs=counts.get(step.key, 0))


__all__ = ["numbered_steps", "place_in", "with_run"]
