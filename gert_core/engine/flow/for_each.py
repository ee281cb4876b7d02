"""Run a step once per item: keys, overlays, order, and the list or map of results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gert_core.api import ErrorKind, EventType, StepProblem, StepStatus, Undecided
from gert_core.engine.again import SecretNeeded
from gert_core.engine.flow.early_end import is_enough, unanswerable
from gert_core.engine.flow.fork import run_tasks, serializes
from gert_core.engine.flow.frame import NEVER, Done, Frame, ignored_beside
from gert_core.engine.flow.items import (
    ITEM_NOT_RUN,
    Item,
    ItemCount,
    SortedOut,
    agent_of,
    came_out,
    steps_inside,
    values_of,
)
from gert_core.engine.signals import CANCELLED, Rank, Signal, SignalCollector
from gert_core.engine.state import RUNNING, STATUS, Layer
from gert_core.engine.steps.close import finish
from gert_core.engine.steps.execution import StepExecution
from gert_core.engine.steps.exports import holder
from gert_core.engine.steps.unable import unable
from gert_core.kit.excerpts import quotable, quoted, shorten
from gert_core.template import ListResults, MapResults, Symbol, TemplateError, shown, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.run import Run
    from gert_core.engine.steps.compiled import CompiledStep


def run_items(run: Run, compiled: CompiledStep, frame: Frame, key: str) -> Done:
    """Run a step with ``for_each`` under its own key: start, every item, complete."""
    if (stopped := CANCELLED if run.services.stop.thrown else run.services.requested.signal) is not None:
        return Done(status=StepStatus.SKIPPED, signal=stopped)
    return _Loop(run, compiled, frame, key).perform()


class _Loop:
    """One pass over the items of a step."""

    def __init__(self, run: Run, compiled: CompiledStep, frame: Frame, key: str) -> None:
        self.run = run
        self.compiled = compiled
        self.frame = frame
        self.key = key
        each = compiled.node.fields.for_each
        assert each is not None  # noqa: S101 - a loop is made for steps that have it
        self.each = each
        self.execution = StepExecution(run, compiled, frame, key=key, layer=frame.layer)
        self.execution.began = time.perf_counter()
        self._shared: dict[tuple[tuple[str, object], ...], Mapping[str, object]] = {}
        self._inside = steps_inside(compiled.node) if compiled.node.blocks else {}
        self._unrun = {**ITEM_NOT_RUN, **self._inside} if self._inside else ITEM_NOT_RUN
        self.count: ItemCount | None = None
        self.enough = False
        """Whether ``until`` was true after an item."""
        self.rest: dict[str, Mapping[str, object]] = {}
        """What is known of the items behind that one, by key or number."""
        self.unknown = False
        """Whether the items are known only in a real run (dry-run and probe): one represents all of them."""
        self.so_far = SortedOut((), keyed=each.key is not None, unknown=False)
        """How the items so far came out, where ``until`` may ask for it."""

    def perform(self) -> Done:
        run = self.run
        if run.services.recorded is not None:
            run.services.recorded.follow(self.frame.prefix, self.key)
        start: dict[str, object] = {"step_id": self.compiled.id, "type": self.compiled.type.name, "for_each": True}
        if self.compiled.description is not None:
            start["description"] = self.compiled.description
        items: list[Item] = []
        limit = 1
        fault: StepProblem | SecretNeeded | None = None
        try:
            items = self._items()
            self._label(items)
            limit = self._limit()
            if not self.unknown:
                start["items"] = len(items)
        except (StepProblem, SecretNeeded) as problem:
            fault = problem
        if run.services.recorded is not None:
            run.services.recorded.gates.refuse_replaced(self.key)
            if isinstance(fault, StepProblem):
                run.services.recorded.gates.refuse_skipped(self.key)
        self._add(EventType.STEP_START, start)
        run.services.progress.started(self.execution.info)
        if run.services.backend.symbolic:
            from gert_core.engine.steps.outline import outline_loop

            run.services.progress.outlined(self.execution.info, outline_loop(self.execution))
        if fault is not None:
            return unable(self.execution, fault)
        self.frame.layer.set_status(self.compiled.id, RUNNING)
        self._add(
            EventType.FOR_EACH_START,
            {
                "step_id": self.compiled.id,
                "over": self.each.over,
                "item_count": None if self.unknown else len(items),
                "parallel": self.each.parallel,
            },
        )
        if run.services.progress.watches:
            self.count = ItemCount(run.services.progress, self.execution.info, len(items))
        return self._finish(items, self._run_all(items, limit))

    # -- before the items ----------------------------------------------------------------------------------------

    def _items(self) -> list[Item]:
        """Return every item."""
        return [Item(index, value, self._unrun) for index, value in enumerate(self._over())]

    def _layer(self, item: Item) -> Layer:
        """Return the variables of an item before it runs."""
        layer = Layer(self.frame.layer, loop=self.compiled.node.path)
        layer.bind({self.each.as_: item.value})
        return layer

    def _over(self) -> list[Any]:
        try:
            value = self.compiled.over.render(self.frame.layer) if self.compiled.over is not None else []
        except Undecided:
            self.unknown = True
            return [Symbol(f"{{{{ .{self.each.as_} }}}}")]
        except TemplateError as error:
            raise StepProblem(ErrorKind.TEMPLATE, f"for_each.over: {error.message}") from None
        if isinstance(value, dict):
            return [{"key": name, "value": item} for name, item in value.items()]
        if not isinstance(value, list):
            given = quoted(shorten(shown(value), 80))
            raise StepProblem(ErrorKind.FOR_EACH_SHAPE, f"for_each.over gave {given}, not a list or a map")
        return value

    def _label(self, items: list[Item]) -> None:
        """Name each item by its key; names must differ before the first item runs."""
        if self.compiled.key_template is None:
            return
        seen: set[str] = set()
        for item in items:
            try:
                item.name = to_text(self.compiled.key_template.render(self._layer(item)))
            except Undecided:
                item.name = f"{{{{ {item.index} }}}}"
            except TemplateError as error:
                raise StepProblem(ErrorKind.TEMPLATE, f"for_each.key: {error.message}") from None
            if item.label in seen:
                raise StepProblem(ErrorKind.DUPLICATE_KEY, f"two items have the key {item.label!r}")
            seen.add(item.label)

    def _limit(self) -> int:
        if not self.each.parallel or serializes(self.run, self.compiled.node):
            return 1
        try:
            value = self.compiled.parallel_limit.render(self.frame.layer) if self.compiled.parallel_limit else 16
        except Undecided:
            return 1
        except TemplateError as error:
            raise StepProblem(ErrorKind.TEMPLATE, f"for_each.max_parallel: {error.message}") from None
        value = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            told = f"for_each.max_parallel gave {quotable(value)!r}, not a positive integer"
            raise StepProblem(ErrorKind.WRONG_TYPE, told)
        return value

    # -- the items -----------------------------------------------------------------------------------------------

    def _run_all(self, items: list[Item], limit: int) -> list[Signal | None]:
        """Run the items: in parallel all of them, one after another up to the first signal."""
        if self.each.parallel:
            return run_tasks(self.run, len(items), lambda index: self._perform(items[index]), limit=limit)
        for item in items:
            signal = self._perform(item)
            if signal is not None:
                return [signal]
            if self.enough:
                self.rest = {one.label: one.facts for one in items[item.index + 1 :]}
                del items[item.index + 1 :]
                break
        return []

    def _child(self, item: Item, layer: Layer, label: str) -> StepExecution:
        branch = self.frame.branch
        if self.each.parallel:
            branch = {"index": item.index, "label": item.label, "parent": self.key}
        frame = Frame(
            layer=layer,
            prefix=self.frame.prefix,
            deadline=self.frame.deadline,
            branch=branch,
            depth=self.frame.depth + 1,
            caught=self.frame.caught,
            continues=self.frame.continues,
            base=self.frame.base,
            quiet=self.frame.quiet,
            ignored_doubts=self._ignored_doubts(),
            passed=self.frame.passed,
        )
        key = f"{self.key}[{quote(label, safe='')}]"
        child = StepExecution(self.run, self.compiled, frame, key=key, layer=layer, item=item.index)
        if self.compiled.item_acts:
            child.principal = agent_of(item.value) or child.principal
        return child

    def _ignored_doubts(self) -> int:
        """Return how many unknown results do not decide whether an item is reached: those of items beside it."""
        if self.unknown:
            return NEVER
        return ignored_beside(self.execution) if self.each.parallel else self.frame.ignored_doubts

    def _perform(self, item: Item) -> Signal | None:
        services = self.run.services
        if (ended := CANCELLED if services.stop.thrown else services.requested.signal) is not None:
            return ended
        layer = self._layer(item)
        label = self.run.services.masker.mask_text(item.label)
        child = self._child(item, layer, label)
        if self.run.abort is not None and (stopped := self.run.abort.stops(self.compiled, child.frame, child.key)):
            return stopped
        data = {"step_id": self.compiled.id, "index": item.index, "key": label, "value": item.value}
        child.add(EventType.FOR_EACH_ITEM, data)
        done = child.perform()
        item.status, item.scope, item.facts = done.status, child.scope, self._facts(item, done, layer)
        if self.count is not None and (done.signal is None or done.signal.rank <= Rank.FAILED):
            self.count.add(done.status)
        if done.ran and self.compiled.leaf:
            item.outputs = dict(done.outputs)
        elif done.ran:  # for a step with blocks: the names its blocks promoted
            item.outputs = {n: v for n, v in layer.vars.items() if layer.owners.get(n)}
        if layer.exported or layer.scopes:
            item.kept = layer
        if self.compiled.until is not None and done.signal is None:
            self.so_far.add(item)
            try:
                self.enough = is_enough(self.compiled.until, done, child, self.so_far)
            except Undecided:
                self.unknown = True
            except (TemplateError, SecretNeeded) as error:
                return unanswerable(child, error)
        return done.signal

    def _facts(self, item: Item, done: Done, layer: Layer) -> Mapping[str, object]:
        """Return the facts about an item that has run; items that came out alike share theirs."""
        if done.uncertain:
            return {name: Symbol(f"{{{{ {name} of item {item.label} }}}}") for name in (*self._unrun, *done.fields)}
        facts = {
            **dict.fromkeys(self.compiled.type.fields),
            **done.fields,
            STATUS: str(done.status),
            "failure": done.failure,
        }
        if self._inside:
            return came_out(self._inside, layer) | facts
        if done.failure is not None or not all(isinstance(value, str | int | None) for value in done.fields.values()):
            return facts
        return self._shared.setdefault(tuple(facts.items()), facts)

    # -- after the items -----------------------------------------------------------------------------------------

    def _finish(self, items: list[Item], signals: list[Signal | None]) -> Done:
        execution, layer = self.execution, self.frame.layer
        collected = SignalCollector()
        collected.add(signals)
        worst = collected.worst
        for item in items:
            if item.kept is not None:
                layer.absorb(item.kept, bound=frozenset({self.each.as_}), only_exports=True)
        if worst is not None and worst.rank in (Rank.CANCELLED, Rank.SUSPENDED):
            self.run.services.progress.left_open(execution.info, cancelled=worst.rank is Rank.CANCELLED)
            return Done(status=StepStatus.SKIPPED, signal=worst)
        results, status = self._results(items), _status(items, worst)
        if self.run.services.backend.symbolic:
            self._weigh(items)
        sorted_out = SortedOut(items, keyed=self.each.key is not None, unknown=self.unknown)
        layer.set_step(self.compiled.id, results, execution.status(status), **sorted_out.facts(self.compiled.id))
        self._write_scopes(items)
        exported = self._export(results)
        if exported:
            self._add(EventType.SCOPE_EXPORT, {"step_id": self.compiled.id, "scope": None, "exported_vars": exported})
        data: dict[str, object] = {"items": len(items)}
        if worst is not None and worst.failures:
            first = worst.first
            data["failure"] = {"kind": first.kind, "message": f"item {first.key}: {first.message}"}
        execution.collected = True
        done = finish(execution, status, data, cause=worst if worst is not None and worst.failures else None)
        if worst is not None and worst.rank is Rank.ENDED and not execution.uncertain and not self.unknown:
            done.signal = worst  # in dry-run only if it is sure that an item comes to it
        return done

    def _weigh(self, items: list[Item]) -> None:
        """Decide in a dry-run whether the status of the loop is known."""
        from gert_core.engine.modes.explore import weigh

        weigh(self.execution)
        if self.compiled.node.fields.continue_on_fail:
            self.execution.uncertain |= any(item.uncertain for item in items)

    def _results(self, items: list[Item]) -> object:
        if self.unknown:
            return Symbol(f"{{{{ .{self.compiled.id} }}}}")
        facts = [item.facts for item in items]
        if self.each.key is None:
            return ListResults([item.outputs for item in items], facts, self.rest)
        results = {item.label: item.outputs for item in items}
        return MapResults(results, dict(zip(results, facts, strict=True)), self.rest)

    def _write_scopes(self, items: list[Item]) -> None:
        """Write each item's outputs one level below the scope's own path: ``.scope.round/0.<key>.<output>``."""
        for item in items:
            if item.ran and item.scope is not None:
                self.frame.layer.write_scope((*item.scope, item.label), item.outputs or {})

    def _export(self, results: object) -> list[str]:
        """Export each name as the list or map of its values, unless the name is taken; return those exported."""
        exported = []
        layer = self.frame.layer
        for name, path in self.compiled.exports:
            owner = layer.exporter(name)
            if holder(self.execution, name) is not None or owner not in (None, self.compiled.id):
                self.run.services.progress.warn(
                    f"{self.key}: `{name}` is not exported because the name is taken", step=self.execution.info
                )
                continue
            layer.export(self.compiled.id, name, values_of(results, name, path))
            exported.append(name)
        return exported

    def _add(self, type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        self.execution.add(type, data)


def _status(items: list[Item], worst: Signal | None) -> StepStatus:
    statuses = {item.status for item in items}
    if worst is not None and worst.failures:
        return StepStatus.ERROR if worst.status == "error" else StepStatus.FAILED
    if StepStatus.ERROR in statuses:
        return StepStatus.ERROR
    return StepStatus.FAILED if StepStatus.FAILED in statuses else StepStatus.SUCCESS


__all__ = ["run_items"]
