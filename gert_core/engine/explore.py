"""Dry-run and probe: what stays unknown becomes symbolic, undecided arms are all looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import Completed, Flow
from gert_core.contracts import step_outputs
from gert_core.engine.frame import Frame
from gert_core.engine.signals import Rank, Signal
from gert_core.engine.state import Layer
from gert_core.template import Symbol

if TYPE_CHECKING:
    from gert_core.api import Result, Undecided
    from gert_core.documents.tree import Runbook
    from gert_core.engine.compiled import Compiled
    from gert_core.engine.phases import Execution


def symbolic_result(unit: Compiled, runbook: Runbook, *, reason: str) -> Completed:
    """The outputs a step would have, each a symbol named after itself."""
    outputs = {name: Symbol(f"{{{{ .{unit.id}.{name} }}}}") for name in step_outputs(unit.node, runbook)}
    fields = {name: Symbol(f"{{{{ .{unit.id}.{name} }}}}") for name in unit.type.fields}
    return Completed(outputs=outputs, fields=fields, detail={"symbolic": reason})


def undecided(execution: Execution, why: Undecided) -> Result | None:
    """A step that needed a value only a real run can know: symbolic, or every block looked at once."""
    unit = execution.unit
    if unit.leaf:
        return symbolic_result(unit, execution.run.runbook, reason=str(why))
    run, layer = execution.run, execution.layer
    from gert_core.engine.flow import run_list

    signals: list[Signal | None] = []
    overlays: list[Layer] = []
    for index, block in enumerate(unit.node.blocks):
        overlay = Layer(layer)
        binds = block.block.binds if block.block is not None else {}
        if binds:
            overlay.bind({unit.type.name: {name: Symbol(f".{unit.type.name}.{name}") for name in binds}})
        frame = Frame(
            layer=overlay,
            prefix=f"{execution.key}/{index}/",
            deadline=execution.deadline,
            branch=execution.frame.branch,
            depth=execution.frame.depth + 1,
        )
        run.progress.arm(execution, block.name, str(why))
        signals.append(run_list(run, block, frame))
        overlays.append(overlay)
    worst = [s for s in signals if s is not None and s.rank > Rank.ENDED]
    if worst:
        execution.keeper.keep(worst)
        return None
    ended = [s for s in signals if s is not None]
    if ended and (len(ended) == len(signals) or unit.type.flow is not Flow.ONE_OF):
        execution.keeper.keep([Signal(rank=Rank.ENDED)])
        return None
    _forget_values(layer, [o for o, s in zip(overlays, signals, strict=True) if s is None])
    fields = {name: Symbol(f"{{{{ .{unit.id}.{name} }}}}") for name in unit.type.fields}
    return Completed(fields=fields, detail={"symbolic": str(why)})


def _forget_values(layer: Layer, overlays: list[Layer]) -> None:
    """After undecided arms every name they may have set is known to exist, but not its value."""
    for overlay in overlays:
        for name in overlay.vars:
            layer.vars[name] = Symbol(f"{{{{ .{name} }}}}")
            layer.owners[name] = overlay.owners.get(name, "")
        for step_id, entry in overlay.steps.items():
            layer.steps[step_id] = _symbols(step_id, entry)
        layer.absorb(_only_scopes(overlay))


def _symbols(step_id: str, entry: Any) -> Any:
    if not isinstance(entry, dict):
        return Symbol(f"{{{{ .{step_id} }}}}")
    return {name: Symbol(f"{{{{ .{step_id}.{name} }}}}") for name in entry}


def _only_scopes(overlay: Layer) -> Layer:
    bare = Layer()
    bare.scopes = overlay.scopes
    return bare


__all__ = ["symbolic_result", "undecided"]
