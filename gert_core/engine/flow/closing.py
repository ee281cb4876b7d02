"""Run the cleanup of a run: its ``on_failure`` and ``finally``, after its own steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import CLEANUP_TIMEOUT, RunStatus
from gert_core.engine.flow.frame import NEVER, Frame
from gert_core.engine.flow.lists import run_list
from gert_core.engine.progress import StepInfo
from gert_core.engine.signals import NO_OUTCOME, Rank, SignalCollector, run_status
from gert_core.engine.state import FAILURE, Layer
from gert_core.engine.steps.cleanup import failure_symbol, failure_variable
from gert_core.kit.time_spans import duration_text
from gert_core.template import Symbol

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.cancel import Deadline
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal

_LIMIT: Final = f"the time of the cleanup of the run is up: all of it may take {duration_text(CLEANUP_TIMEOUT)}"
_WHY: Final = "whether the run fails is known only in a real run"


def close_run(run: Run, frame: Frame, signal: Signal | None) -> Signal | None:
    """Run the cleanup of the run after what stopped its steps; return what stops the run then."""
    symbolic = run.services.backend.symbolic
    if signal is None and not symbolic:
        signal = NO_OUTCOME
    first = failure_variable([signal], run.services.masker) if signal is not None else None
    deadline = frame.base.within(CLEANUP_TIMEOUT, limit=_LIMIT)
    collected = SignalCollector()
    collected.add([signal])
    for block in run.facts.runbook.cleanup:
        worst = collected.worst
        if worst is not None and worst.rank >= Rank.SUSPENDED:
            break
        calm = worst is None or worst.rank is Rank.ENDED
        if block.handles and calm:
            if run.doubts:
                _explore(run, block, frame, deadline)
            continue
        layer = _layer(run, frame, first, worst)
        ignored_doubts = frame.ignored_doubts if frame.prefix else run.doubts  # that of a run is entered in any case
        after = run_list(run, block, _inside(block, frame, layer, deadline, ignored_doubts=ignored_doubts))
        frame.layer.absorb(layer, bound=frozenset({FAILURE}))
        if block.handles and after is not None and after.rank is Rank.ENDED and worst is not None:
            if worst.rank is Rank.FAILED:  # it gives the run its outcome; after a denial it ends the cleanup only
                collected = SignalCollector()
                collected.add([after])
            continue
        collected.add([after], cleanup=True)
    return collected.worst


def _layer(run: Run, frame: Frame, failure: object, worst: Signal | None) -> Layer:
    """Return the variables of one of the lists: those of the run, its failure and its status."""
    before = frame.layer
    if run.doubts:
        from gert_core.engine.modes.explore import doubted

        before = doubted(before, run.facts.runbook.lists)
    layer = Layer(before)
    unknown = failure is None and run.doubts > 0
    layer.bind({FAILURE: failure_symbol() if unknown else failure})
    status = (
        Symbol("{{ .run.status }}")
        if unknown
        else str(RunStatus.CANCELLED if run.abort is not None else run_status(worst))
    )
    layer.run = {**layer.run, "status": status}
    return layer


def _inside(block: BlockNode, frame: Frame, layer: Layer, deadline: Deadline, *, ignored_doubts: int) -> Frame:
    """Return the frame of one of the lists; ``frame`` is that of the steps before it."""
    return Frame(
        layer=layer,
        prefix=f"{frame.prefix}@{block.name}/",
        deadline=deadline,
        branch=frame.branch,
        depth=frame.depth,
        quiet=frame.quiet,
        ignored_doubts=ignored_doubts,
        passed=frame.passed,
    )


def _explore(run: Run, block: BlockNode, frame: Frame, deadline: Deadline) -> None:
    """Show in a dry-run what may run after a failure; nothing it sets is known afterwards."""
    from gert_core.engine.modes.explore import forget_values

    info = StepInfo(key=f"{frame.prefix}@{block.name}", step_id="", type="", depth=frame.depth, leaf=False)
    run.services.progress.arm(info, block.name, _WHY)
    layer = _layer(run, frame, None, None)
    run_list(run, block, _inside(block, frame, layer, deadline, ignored_doubts=NEVER))
    forget_values(frame.layer, [layer])


__all__ = ["close_run"]
