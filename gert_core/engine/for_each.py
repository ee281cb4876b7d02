"""A step once per item: keys, overlays, order, and the list or map that is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gert_core.api import Status, StepProblem, Undecided
from gert_core.engine.fork import run_tasks
from gert_core.engine.frame import Done, Frame
from gert_core.engine.phases import CANCELLED, Execution
from gert_core.engine.signals import Keeper, Rank, Signal
from gert_core.engine.state import Layer
from gert_core.template import Symbol, TemplateError, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.compiled import Compiled
    from gert_core.engine.run import Run


def run_items(run: Run, unit: Compiled, frame: Frame, key: str) -> Done:
    """Run a step with ``for_each`` under its own key: start, every item, complete."""
    if run.stop.thrown:
        return Done(status=Status.SKIPPED, signal=CANCELLED)
    return _Loop(run, unit, frame, key).perform()


class _Loop:
    """One pass over the items of a step."""

    def __init__(self, run: Run, unit: Compiled, frame: Frame, key: str) -> None:
        self.run = run
        self.unit = unit
        self.frame = frame
        self.key = key
        self.each = unit.node.fields.for_each
        self.execution = Execution(run, unit, frame, key=key, layer=frame.layer)
        self.execution.began = time.perf_counter()
        self.layers: list[Layer] = []
        self.children: list[Execution] = []
        self.done: list[Done | None] = []
        self.labels: list[str] = []

    def perform(self) -> Done:
        run = self.run
        if run.recall is not None:
            run.recall.opening(self.frame.prefix, self.key)
        self._add("step_start", {"step_id": self.unit.id, "type": self.unit.type.name, "for_each": True})
        run.progress.started(self.execution)
        try:
            items = self._items()
            self.labels = self._prepare(items)
            limit = self._limit()
        except StepProblem as problem:
            failure = {"kind": problem.kind, "message": problem.message}
            return self.execution.finish(Status.ERROR, {"failure": failure})
        self._add(
            "for_each_start",
            {
                "step_id": self.unit.id,
                "over": self.each.over,
                "item_count": len(items),
                "parallel": self.each.parallel,
            },
        )
        signals = self._run_all(items, limit)
        return self._finish(signals)

    def _items(self) -> list[Any]:
        try:
            value = self.unit.over.render(self.frame.layer) if self.unit.over is not None else []
        except Undecided:
            return [Symbol(f"{{{{ .{self.each.name} }}}}")]
        except TemplateError as error:
            raise StepProblem("template", f"for_each.over: {error.message}") from None
        if isinstance(value, dict):
            return [{"key": name, "value": item} for name, item in value.items()]
        if not isinstance(value, list):
            raise StepProblem("for_each_shape", f"for_each.over gave {to_text(value)[:80]!r}, not a list or a map")
        return value

    def _prepare(self, items: list[Any]) -> list[str]:
        """Overlays with the item bound, and the label of each item; labels must differ."""
        labels: list[str] = []
        seen: set[str] = set()
        for index, item in enumerate(items):
            layer = Layer(self.frame.layer)
            layer.bind({self.each.name: item})
            self.layers.append(layer)
            label = str(index)
            if self.unit.key_template is not None:
                try:
                    label = to_text(self.unit.key_template.render(layer))
                except Undecided:
                    label = f"{{{{ {index} }}}}"
                except TemplateError as error:
                    raise StepProblem("template", f"for_each.key: {error.message}") from None
                if label in seen:
                    raise StepProblem("duplicate_key", f"two items have the key {label!r}")
                seen.add(label)
            labels.append(label)
        return labels

    def _limit(self) -> int:
        if not self.each.parallel or self.run.serializes_step(self.unit.node):
            return 1
        value = self.unit.parallel_limit.render(self.frame.layer) if self.unit.parallel_limit else 16
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise StepProblem("wrong_type", f"for_each.max_parallel gave {value!r}, not a positive whole number")
        return value

    def _run_all(self, items: list[Any], limit: int) -> list[Signal | None]:
        self.done = [None] * len(items)
        keys = [f"{self.key}[{quote(self.run.masker.mask_text(label), safe='')}]" for label in self.labels]
        deadline = self.frame.deadline

        def one(index: int) -> Signal | None:
            branch = None
            if self.each.parallel:
                branch = {"index": index, "label": self.labels[index], "parent": self.key}
            frame = Frame(
                layer=self.layers[index],
                prefix=self.frame.prefix,
                deadline=deadline,
                branch=branch or self.frame.branch,
                depth=self.frame.depth + 1,
            )
            child = Execution(
                self.run, self.unit, frame, key=keys[index], layer=self.layers[index], as_item=True
            )
            data = {"step_id": self.unit.id, "index": index, "key": self.labels[index], "value": items[index]}
            child.add("for_each_item", data)
            self.children.append(child)
            result = self.done[index] = child.perform()
            self._collect(index, child, result)
            return result.signal

        if self.each.parallel:
            return run_tasks(self.run, [lambda i=i: one(i) for i in range(len(items))], limit=limit)  # type: ignore[misc]
        signals: list[Signal | None] = []
        for index in range(len(items)):
            signals.append(one(index))
            if signals[-1] is not None:
                break
        return signals

    def _collect(self, index: int, child: Execution, result: Done) -> None:
        """An item's result: the outputs of a leaf, or what a step with blocks promoted."""
        if result.status is Status.SKIPPED or self.unit.leaf:
            return
        layer = self.layers[index]
        result.outputs = {n: v for n, v in layer.vars.items() if layer.owners.get(n)}

    def _finish(self, signals: list[Signal | None]) -> Done:
        execution, layer = self.execution, self.frame.layer
        keeper = Keeper()
        keeper.keep(signals)
        for overlay in self.layers:
            layer.absorb(overlay, bound=frozenset({self.each.name}), only_exports=True)
        results = self._results()
        layer.set_step(self.unit.id, results)
        self._write_scopes()
        exported = self._export(results)
        if exported:
            self._add("scope_export", {"step_id": self.unit.id, "scope": None, "exported_vars": exported})
        kept = keeper.kept
        if kept is not None and kept.rank in (Rank.CANCELLED, Rank.SUSPENDED):
            self.run.progress.left(execution, kept)
            return Done(status=Status.SKIPPED, signal=kept)
        status = self._status(kept)
        data: dict[str, Any] = {"items": len(self.labels)}
        if kept is not None and kept.failures:
            first = kept.failures[0]
            data["failure"] = {"kind": first.kind, "message": f"item {first.key}: {first.message}"}
        execution.as_item = True  # its entry is the list, set above
        done = execution.finish(status, data, cause=kept if kept is not None and kept.failures else None)
        if kept is not None and kept.rank is Rank.ENDED:
            done.signal = kept
        return done

    def _status(self, kept: Signal | None) -> Status:
        statuses = {done.status for done in self.done if done is not None}
        if Status.ERROR in statuses or (kept is not None and kept.failures and kept.status == "error"):
            return Status.ERROR
        return Status.FAILED if Status.FAILED in statuses else Status.SUCCESS

    def _results(self) -> Any:
        values = [
            None if done is None or done.status is Status.SKIPPED else dict(done.outputs) for done in self.done
        ]
        if self.each.key is None:
            return values
        return dict(zip(self.labels, values, strict=False))

    def _write_scopes(self) -> None:
        for label, child, done in zip(self.labels, self._in_order(), self.done, strict=False):
            if child is not None and child.scope is not None and done is not None and done.ran:
                self.frame.layer.write_scope((*child.scope, label), dict(done.outputs))
                # one level below the scope's own path: .scope.round/0.<key>.<output>

    def _in_order(self) -> list[Execution | None]:
        by_key = {child.key: child for child in self.children}
        keys = [f"{self.key}[{quote(self.run.masker.mask_text(label), safe='')}]" for label in self.labels]
        return [by_key.get(key) for key in keys]

    def _export(self, results: Any) -> list[str]:
        """Each exported name becomes the list or map of its values; a name that is taken is left alone."""
        exported = []
        layer = self.frame.layer
        for name in self.unit.node.fields.export:
            owner = layer.owner(name)
            if owner is not None and owner != self.unit.id:
                self.run.progress.warn(
                    f"{self.key}: `{name}` is not exported because the name is taken", execution=self.execution
                )
                continue
            layer.export(self.unit.id, name, _values_of(results, name))
            exported.append(name)
        return exported

    def _add(self, type: str, data: Mapping[str, Any]) -> None:  # noqa: A002 - the event's field name
        self.execution.add(type, data)


def _values_of(results: Any, name: str) -> Any:
    if isinstance(results, dict):
        return {key: (value or {}).get(name) for key, value in results.items()}
    return [(value or {}).get(name) for value in results]


__all__ = ["run_items"]
