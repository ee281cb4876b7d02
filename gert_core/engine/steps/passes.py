"""The variables of the passes over a step's blocks: what a round sees, and what stays after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.engine.state import FAILURE, Layer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import BlockResult
    from gert_core.documents.tree import BlockNode, Path
    from gert_core.engine.steps.execution import StepExecution


class Passes:
    """The passes over the blocks of one execution of a step, one after another."""

    __slots__ = ("_before", "_execution", "_last", "_layer", "_rounds")

    def __init__(self, execution: StepExecution) -> None:
        self._execution = execution
        self._rounds: dict[Path, Layer] = {}
        """What the rounds of each block that repeats have set so far."""
        self._before: frozenset[str] = frozenset()
        self._layer = execution.layer
        self._last: BlockResult | None = None

    def open(self, node: BlockNode, bind: Mapping[str, object] | None) -> Layer:
        """Return the variables of the next pass over a block; a round sees what the rounds before it have set."""
        outer = self._execution.layer
        layer = outer
        if node.repeats:
            rounds = self._rounds.get(node.path)
            if rounds is None:
                rounds = self._rounds[node.path] = Layer(outer, stays=False, loop=node.path)
            layer = Layer(rounds, stays=False, loop=node.path)
        elif bind or node.cleanup:
            layer = Layer(self._behind(node) if node.cleanup else outer)
        if bind:
            layer.bind({self._execution.compiled.type.name: dict(bind)})
        self._before = frozenset(layer.vars) if layer is outer else frozenset()
        return layer

    def _behind(self, cleanup: BlockNode) -> Layer:
        """Return the variables that a cleanup block begins with; in dry-run, what may have failed is not known."""
        execution = self._execution
        if execution.run.doubts <= execution.doubts:
            return execution.layer
        from gert_core.engine.modes.explore import doubted

        return doubted(execution.layer, [block for block in execution.compiled.node.blocks if block is not cleanup])

    def close(self, node: BlockNode, layer: Layer, *, key: int | None) -> dict[str, object]:
        """Keep what stays of a pass; return the names that it promoted, with their values."""
        outer, kind = self._execution.layer, self._execution.compiled.type.name
        produced = {n: v for n, v in layer.vars.items() if layer.owners.get(n) and n not in self._before}
        produced.update(layer.passed)
        self._layer = outer
        if node.repeats:
            if key is not None:
                outer.write_scope((kind, self._execution.compiled.id, str(key)), produced)
            self._layer = self._rounds[node.path]
            self._layer.take_round(layer, bound=kind)
        elif layer is not outer:
            outer.absorb(layer, bound=frozenset({kind, FAILURE}))
        return produced

    def keep(self, result: BlockResult) -> BlockResult:
        """Take the result of the pass that was closed last."""
        self._last = result
        return result

    def after(self, result: BlockResult) -> Layer:
        """Return the variables with those of the last pass in front; raise ``RuntimeError`` for another result."""
        if self._last is not result:
            raise RuntimeError("`after` takes the result of the last block that was run")
        return self._layer


__all__ = ["Passes"]
