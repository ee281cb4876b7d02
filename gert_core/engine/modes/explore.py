"""Continue without values known only in a real run: they become symbols, and undecided arms are all explored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Completed, Flow, Undecided
from gert_core.engine.flow.frame import Frame
from gert_core.engine.signals import Rank, Signal
from gert_core.engine.state import Layer
from gert_core.template import Symbol, TemplateError, compile_condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Result
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.steps.execution import StepExecution


def symbolic_result(execution: StepExecution, *, reason: str) -> Completed:
    """Return the outputs a step would have, each a symbol named after itself.

    Its status is a symbol too if the run would continue in any case: the step may fail, or its guard may skip it.
    """
    compiled = execution.compiled
    names = execution.facts.compiled.contracts.outputs(compiled.node)
    outputs = {name: Symbol(f"{{{{ .{compiled.id}.{name} }}}}") for name in names}
    open_end = ("status",) if execution.maybe or compiled.node.fields.continue_on_fail else ()
    fields = {name: Symbol(f"{{{{ .{compiled.id}.{name} }}}}") for name in (*open_end, *compiled.type.fields)}
    return Completed(outputs=outputs, fields=fields, detail={"symbolic": reason})


def explore(execution: StepExecution, why: Undecided, *, ran: Sequence[BlockNode] = ()) -> Result | None:
    """Return a symbolic result for a step that needed an unknown value; of one with blocks, explore those it may run.

    ``ran`` are the blocks it had run before it needed the unknown value; they are not explored again.
    """
    compiled, layer = execution.compiled, execution.layer
    if compiled.leaf:
        return symbolic_result(execution, reason=str(why))
    signals: list[Signal | None] = []
    overlays: list[Layer] = []
    for index, block in _possible(execution, ran):
        overlay = Layer(layer)
        signals.append(_explore_block(execution, block, overlay, index=index, why=why))
        overlays.append(overlay)
    worst = [s for s in signals if s is not None and s.rank > Rank.ENDED]
    if worst:
        execution.signals.add(worst)
        return None
    ended = [s for s in signals if s is not None]
    if ended and (len(ended) == len(signals) or compiled.type.flow is not Flow.ONE_OF):
        execution.signals.add([Signal(rank=Rank.ENDED)])
        return None
    _forget_values(layer, [o for o, s in zip(overlays, signals, strict=True) if s is None])
    fields = {name: Symbol(f"{{{{ .{compiled.id}.{name} }}}}") for name in compiled.type.fields}
    return Completed(fields=fields, detail={"symbolic": str(why)})


def _possible(execution: StepExecution, ran: Sequence[BlockNode]) -> list[tuple[int, BlockNode]]:
    """Return the blocks that may run: of arms, those not known to be false, up to one known to be true."""
    compiled = execution.compiled
    out = []
    for index, block in enumerate(compiled.node.blocks):
        if any(block is done for done in ran):
            continue
        known = None
        if compiled.type.flow is Flow.ONE_OF and block.block is not None and block.block.condition is not None:
            known = _known(execution, block.block.condition)
        if known is not False:
            out.append((index, block))
        if known is True:
            break
    return out


def _known(execution: StepExecution, raw: object) -> bool | None:
    condition = compile_condition(raw)
    try:
        return condition.is_default or condition.test(execution.layer)
    except (Undecided, TemplateError):
        return None


def _explore_block(
    execution: StepExecution, block: BlockNode, overlay: Layer, *, index: int, why: Undecided
) -> Signal | None:
    """Run one block as if it had been chosen; its binds are symbols."""
    from gert_core.engine.flow.lists import run_list

    run, compiled = execution.run, execution.compiled
    binds = block.block.binds if block.block is not None else {}
    if binds:
        overlay.bind({compiled.type.name: {name: Symbol(f".{compiled.type.name}.{name}") for name in binds}})
    frame = Frame(
        layer=overlay,
        prefix=f"{execution.key}/{index}/",
        deadline=execution.deadline,
        branch=execution.frame.branch,
        depth=execution.frame.depth + 1,
    )
    run.services.progress.arm(execution.info, block.name, str(why))
    return run_list(run, block, frame)


def _forget_values(layer: Layer, overlays: list[Layer]) -> None:
    """Keep the names that undecided arms may have set, as symbols: that they exist is known, their values are not."""
    for overlay in overlays:
        for name in overlay.vars:
            layer.vars[name] = Symbol(f"{{{{ .{name} }}}}")
            layer.owners[name] = overlay.owners.get(name, "")
        for step_id, entry in overlay.steps.items():
            layer.steps[step_id] = _symbols(step_id, entry)
        layer.absorb(_only_scopes(overlay))


def _symbols(step_id: str, entry: object) -> object:
    if not isinstance(entry, dict):
        return Symbol(f"{{{{ .{step_id} }}}}")
    return {name: Symbol(f"{{{{ .{step_id}.{name} }}}}") for name in entry}


def _only_scopes(overlay: Layer) -> Layer:
    bare = Layer()
    bare.scopes = overlay.scopes
    return bare


__all__ = ["explore", "symbolic_result"]
