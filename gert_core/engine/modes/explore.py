"""Continue without values known only in a real run: they become symbols, and undecided arms are all explored."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from gert_core.api import Completed, Flow, Undecided
from gert_core.engine.flow.frame import NEVER, Frame, ignored_beside
from gert_core.engine.signals import Rank, Signal
from gert_core.engine.state import FAILURE, STATUS, Layer
from gert_core.engine.steps.cleanup import failure_symbol
from gert_core.engine.trees import MISSING
from gert_core.template import MapResults, Symbol, TemplateError, compile_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gert_core.api import Result
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.steps.execution import StepExecution


def symbolic_result(execution: StepExecution, *, reason: str) -> Completed:
    """Return the outputs a step would have, each a symbol named after itself."""
    compiled, run, decision = execution.compiled, execution.run, execution.decision
    run.doubts += 1
    if decision is not None and (decision.denied or decision.needs_approval):
        run.refusals.append(run.doubts)
    names = execution.facts.compiled.contracts.outputs(compiled.node)
    return Completed(
        outputs=_named_symbols(compiled.id, names), fields=_symbolic_fields(execution), detail={"symbolic": reason}
    )


def weigh(execution: StepExecution) -> None:
    """Decide whether the status of a step that is over is known.

    It is not if a guard may skip the step, or if the run continues although something inside it may fail. Then it is
    not known either what the steps inside it have set.
    """
    run, compiled = execution.run, execution.compiled
    if execution.maybe:
        execution.uncertain = True
    if compiled.node.fields.continue_on_fail and run.doubts > execution.doubts:
        execution.uncertain = True
        # Whatever failed, it is this step's own result; a denial or a rejection ends the run.
        before = bisect_right(run.refusals, execution.doubts)
        run.doubts = execution.doubts + len(run.refusals) - before
        run.refusals[before:] = range(execution.doubts + 1, run.doubts + 1)
    if execution.uncertain and not compiled.leaf:
        forget_steps(execution.layer, compiled.node.blocks)


def weighed(execution: StepExecution, values: Mapping[str, object]) -> Mapping[str, object]:
    """Return outputs or fields of a step that is over; symbols if only a real run knows how it came out."""
    return _named_symbols(execution.compiled.id, values) if execution.uncertain else values


def explore(
    execution: StepExecution, why: Undecided, *, ran: Sequence[BlockNode] = (), ended: bool = False
) -> Result | None:
    """Return a symbolic result for a step that needed an unknown value; of one with blocks, explore those it may run.

    ``ran`` are the blocks it had run before it needed the unknown value; they are not explored again. ``ended``: one of
    these ends the run unless something in it fails.
    """
    compiled, layer = execution.compiled, execution.layer
    if compiled.leaf:
        return symbolic_result(execution, reason=str(why))
    forget_steps(layer, ran)
    found: list[tuple[BlockNode, Layer, Signal | None]] = []
    for index, block in _possible(execution, ran):
        overlay = Layer(layer, loop=block.path if block.repeats else None)
        if block.cleanup:  # what ran before it may have come to its end or not
            forget_values(overlay, [earlier for _, earlier, _ in found])
        found.append((block, overlay, _explore_block(execution, block, overlay, index=index, why=why)))
    for number, node in enumerate(compiled.node.includes):
        if not any(node is done for done in ran):
            found.append((node, Layer(layer), _explore_included(execution, node, number, why)))
    execution.run.doubts += 1
    signals = _concluded(execution, [(block, signal) for block, _, signal in found], ended=ended)
    if signals:
        execution.signals.add(signals)
        return None
    forget_values(layer, [overlay for _, overlay, signal in found if signal is None])
    return Completed(fields=_symbolic_fields(execution), detail={"symbolic": str(why)})


def _concluded(
    execution: StepExecution, found: Sequence[tuple[BlockNode, Signal | None]], *, ended: bool
) -> list[Signal]:
    """Return the signals of a step all of whose explored ways lead to one; none when the run may continue after it."""
    choice = execution.compiled.type.flow is Flow.ONE_OF
    # A block that runs only sometimes decides nothing, and an arm that fails only if every other one does, unless the
    # run itself must stop.
    futile = choice and all(signal is not None and signal.rank > Rank.ENDED for _, signal in found)
    decisive = [
        signal
        for block, signal in found
        if signal is not None and (signal.rank >= Rank.SUSPENDED or (futile if choice else _runs_always(block)))
    ]
    worst = [signal for signal in decisive if signal.rank > Rank.ENDED]
    if worst:
        return worst
    ways = [signal for _, signal in found] if choice else []
    if ended:  # unless it failed before: then the run may continue after a block that handles this
        ways = [signal for block, signal in found if block.steps and not _runs_always(block)]
    over = (decisive and not choice) or (ways and None not in ways)
    return [Signal(rank=Rank.ENDED)] if over else []


def _runs_always(block: BlockNode) -> bool:
    return block.block is None or block.block.runs[0] > 0


def _symbolic_fields(execution: StepExecution) -> dict[str, object]:
    return _named_symbols(execution.compiled.id, execution.compiled.type.fields)


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
    if block.cleanup:
        overlay.bind({FAILURE: failure_symbol()})
    if binds:
        overlay.bind({compiled.type.name: {name: Symbol(f".{compiled.type.name}.{name}") for name in binds}})
    frame = Frame(
        layer=overlay,
        prefix=f"{execution.key}/{index}/",
        deadline=execution.deadline,
        branch=execution.frame.branch,
        depth=execution.frame.depth + 1,
        caught=execution.frame.caught,
        continues=execution.continues,
        base=execution.frame.base,
        ignored_doubts=ignored_beside(execution) if block.cleanup and _runs_always(block) else NEVER,
    )
    run.services.progress.arm(execution.info, block.name, str(why))
    return run_list(run, block, frame)


def _explore_included(execution: StepExecution, node: BlockNode, number: int, why: Undecided) -> Signal | None:
    """Run an included runbook with what is known of its inputs; its end is not one of the run."""
    from gert_core.engine.flow.included import run_included

    execution.run.services.progress.arm(execution.info, node.name, str(why))
    key, branch = len(execution.compiled.node.blocks) + number, execution.frame.branch
    signal = run_included(execution, node, key=key, branch=branch, caught=False)
    return None if signal is None or signal.rank is Rank.ENDED else signal


def forget_values(layer: Layer, overlays: list[Layer]) -> None:
    """Keep the names that undecided arms may have set, as symbols: that they exist is known, their values are not."""
    for overlay in overlays:
        for name, (exporter, _) in overlay.exported.items():  # out of a loop, too
            layer.export(exporter, name, _symbol(name))
        for name in overlay.vars:
            owner = overlay.owners.get(name, "")
            if name == FAILURE or (name in overlay.exported and overlay.exported[name][0] == owner):
                continue
            layer.vars[name] = _symbol(name)
            layer.owners[name] = owner
        for step_id, entry in overlay.steps.items():
            layer.steps[step_id] = _symbols(step_id, entry)
        for step_id, facts in overlay.own.items():
            _forget_status(layer, step_id, facts)
        layer.absorb(_only_scopes(overlay))


def forget_steps(layer: Layer, blocks: Iterable[BlockNode]) -> None:
    """Replace what the steps in these blocks have set by symbols: a step may not have run, or not to its end."""
    stack = list(blocks)
    inside: set[str] = set()
    while stack:
        for step in stack.pop().steps:
            inside.add(step.id)
            stack.extend(step.blocks)
    for step_id in inside:
        facts, entry = layer.facts(step_id), layer.step(step_id)
        if facts is not None and entry is not MISSING:
            layer.steps[step_id] = _symbols(step_id, entry)
            _forget_status(layer, step_id, facts)
    for name, owner in layer.owned_by(inside).items():
        if layer.exporter(name) == owner:
            layer.export(owner, name, _symbol(name))
        else:
            layer.vars[name] = _symbol(name)
            layer.owners[name] = owner


def doubted(layer: Layer, blocks: Iterable[BlockNode]) -> Layer:
    """Return the variables for cleanup after these blocks, in which something may have failed."""
    view = Layer(layer)
    forget_steps(view, blocks)
    return view


def _forget_status(layer: Layer, step_id: str, facts: Mapping[str, object]) -> None:
    others = {name: Symbol(f"{{{{ .step.{step_id}.{name} }}}}") for name in facts if name != STATUS}
    layer.set_status(step_id, Symbol(f"{{{{ .{step_id}.{STATUS} }}}}"), **others)


def _symbol(name: str) -> Symbol:
    return Symbol(f"{{{{ .{name} }}}}")


def _symbols(step_id: str, entry: object) -> object:
    if not isinstance(entry, dict) or isinstance(entry, MapResults):
        return _symbol(step_id)
    return _named_symbols(step_id, entry)


def _named_symbols(step_id: str, names: Iterable[str]) -> dict[str, object]:
    return {name: Symbol(f"{{{{ .{step_id}.{name} }}}}") for name in names}


def _only_scopes(overlay: Layer) -> Layer:
    bare = Layer()
    bare.scopes = overlay.scopes
    return bare


__all__ = ["doubted", "explore", "forget_values", "symbolic_result", "weigh", "weighed"]
