"""The context of a running step, which refuses what a step may not do."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from gert_core.api import BlockResult, ErrorKind, RunError, StepProblem, Undecided
from gert_core.engine.flow import fork
from gert_core.engine.sessions import served_alone
from gert_core.engine.signals import NOT_STARTED, Rank, Unwind
from gert_core.engine.steps.blocks import StepBlocks, block_result, is_outcome, require_outcomes
from gert_core.engine.steps.cleanup import Cleanup
from gert_core.engine.steps.clock import Clock
from gert_core.engine.steps.emitting import check_event, emit
from gert_core.engine.steps.telling import Telling
from gert_core.engine.steps.tool_calls import action_name, call_tool
from gert_core.engine.steps.visibility import visible
from gert_core.engine.trees import copy_data
from gert_core.plugin.kinds import STEP
from gert_core.plugin.printing import outside
from gert_core.template import UndefinedVariable, compile_condition, compile_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from gert_core.api import Answer, Block, Branch, Json, Question, Reply, Services
    from gert_core.api.context import Peer
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.signals import Signal
    from gert_core.engine.steps.execution import StepExecution

_CLOSED: Final = "a step context works only in the thread that called run, until run returns"


class AttemptContext(Telling):
    """The ``StepContext`` of one attempt.

    It works only in the thread that called ``run`` and until ``run`` returns. While a signal of a block is
    collected, every call except ``emit`` and cleanup blocks unwinds, so a step type can neither swallow nor forget it.
    """

    _open = True
    _clock: Clock | None = None
    _random: random.Random | None = None
    _blocks: StepBlocks | None = None
    may_end = False
    """In dry-run: whether a block that was run ends the run unless something in it fails."""
    cleanup: Cleanup | None = None
    """What the step's cleanup blocks share, once one of them has run."""
    fault: Exception | None = None
    """The error because of which a block has no result. It ends the run; no step type can catch it."""

    def __init__(self, execution: StepExecution) -> None:
        self._execution = execution
        execution.calls = 0
        execution.acted = execution.read_late = False
        self._thread = threading.get_ident()
        self._keys: set[int | None] = set()
        self._caught: list[tuple[BlockResult, Signal]] = []
        self.ran: list[BlockNode] = []
        """The blocks that were run, each as often as it was."""
        self.inputs = execution.inputs
        self.contract = execution.contract
        self.key = execution.key
        self.step_id = execution.compiled.id
        self.attempt = execution.attempt
        self.is_retry = execution.attempt > 1
        self.deadline = execution.deadline

    @property
    def idempotency_key(self) -> str:
        return self._execution.facts.idempotency_key(self.key)

    @property
    def random(self) -> random.Random:
        if self._random is None:  # one stream per attempt: a second access continues where the first stopped
            run = self._execution.run
            self._random = random.Random(f"{run.services.backend.seed(run)}\n{self.key}")  # noqa: S311 - repeatable on purpose
        return self._random

    @property
    def config(self) -> Mapping[str, Json]:
        return self._execution.services.plugins.of(STEP, self._execution.compiled.type.name).config

    @property
    def blocks(self) -> Sequence[Block]:
        return self._step_blocks().handles

    def _step_blocks(self) -> StepBlocks:
        if self._blocks is None:
            self._blocks = StepBlocks(self._execution)
        return self._blocks

    @property
    def vars(self) -> Mapping[str, object]:
        self._enter()
        rule = self._execution.compiled.node.fields.visibility
        found = visible(self._execution.layer.names_visible(), rule)
        if self._execution.services.recorded is not None:
            self._execution.services.recorded.lost.refuse(found)
        return copy_data(found)  # type: ignore[no-any-return]

    def shut(self) -> None:
        """Refuse every further call: ``run`` has returned."""
        self._open = False

    def _enter(self, *, acts: bool = False, cleanup: bool = False) -> StepExecution:
        self._require_open()
        worst = self._execution.signals.worst
        if self.fault is not None or (worst is not None and not (cleanup and worst.rank < Rank.SUSPENDED)):
            raise Unwind
        if acts and not self._execution.compiled.leaf:
            raise RuntimeError("a step with blocks acts only through its blocks")
        return self._execution

    def _require_open(self) -> None:
        if not self._open or threading.get_ident() != self._thread:
            raise RuntimeError(_CLOSED)

    @property
    def approvers(self) -> Sequence[str]:
        return self._execution.approvers

    # -- inside the run ------------------------------------------------------------------------------------------

    def render(self, value: object) -> object:
        return copy_data(compile_value(value).render(self._enter().layer))

    def test(
        self,
        expression: object,
        *,
        bind: Mapping[str, object] | None = None,
        after: BlockResult | None = None,
        undefined: bool | None = None,
    ) -> bool:
        execution = self._enter()
        layer = execution.layer if after is None else self._step_blocks().passes.after(after)
        try:
            return compile_condition(expression).test(execution.view(bind, layer))
        except UndefinedVariable:
            if undefined is None:
                raise
            return undefined

    def show(self, text: str) -> None:
        self._require_open()
        self._execution.services.progress.shown(self._execution.info, text)

    def now(self) -> datetime:
        self._enter()
        with self._faults():
            return self._own_clock().now()

    @property
    def interrupted(self) -> bool:
        return self._clock is not None and self._clock.interrupted

    def _own_clock(self) -> Clock:
        if self._clock is None:
            self._clock = Clock(self._execution)
        return self._clock

    def sleep(self, seconds: float) -> None:
        self._enter()
        with self._faults():
            self._own_clock().sleep(seconds)
        if self.deadline.cancelled:
            raise StepProblem(ErrorKind.CANCELLED, "the run was cancelled")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Keep an error of the run, whatever the step type makes of it, and unwind."""
        try:
            yield
        except RunError as fault:
            self.fault = fault
            raise Unwind from None

    def emit(self, type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        self._require_open()
        check_event(type, data)
        with self._faults():
            emit(self._execution, type, data)

    def state_hash(self) -> str:
        execution = self._enter()
        return execution.services.digest(execution.layer.names_visible())

    # -- blocks --------------------------------------------------------------------------------------------------

    def run_block(
        self, block: Block, *, key: int | None = None, bind: Mapping[str, object] | None = None, catch: bool = False
    ) -> BlockResult:
        node = self._step_blocks().node(block)
        execution = self._enter(cleanup=node.cleanup)
        self._require_first([node])
        self._note(node, key)
        doubts, branch, within = execution.run.doubts, execution.frame.branch, None
        layer = self._step_blocks().passes.open(node, bind)
        if node.cleanup:
            self.cleanup = self.cleanup or Cleanup(execution, node)
            layer.bind(self.cleanup.names([signal for _, signal in self._caught]))
            within = self.cleanup.deadline
        try:
            with outside():
                signal = fork.run_block(execution, node, layer, key=key, branch=branch, caught=catch, within=within)
        except Exception as fault:
            self.fault = fault
            raise Unwind from None
        produced = self._step_blocks().passes.close(node, layer, key=key)
        if catch:
            self._require_decided([signal], node.name, doubts)
        if signal is None and block.jump is not None:
            execution.jump = str(block.jump)
        (result,) = self._collect([(signal, produced)], [node], catch=catch, cleanup=node.cleanup)
        return self._step_blocks().passes.keep(result)

    def fork(
        self,
        runs: Sequence[Branch],
        *,
        limit: int = 16,
        catch: bool = False,
        on_start: Callable[[Sequence[Sequence[int]]], None] | None = None,
    ) -> Sequence[BlockResult]:
        execution = self._enter()
        nodes = self._step_blocks().nodes([one.block for one in runs])
        if any(node.cleanup for node in nodes):
            raise RuntimeError("cleanup blocks run one by one, with run_block")
        self._require_first(nodes)
        for one, node in zip(runs, nodes, strict=True):
            self._note(node, one.key)
        waits, doubts = fork.waits_of(execution.run, nodes), execution.run.doubts
        if on_start is not None:
            on_start(waits)
        if not isinstance(limit, int) or not all(isinstance(one.bind, Mapping) for one in runs):
            raise TypeError("a fork takes an integer as limit and maps as bind")
        try:
            with outside():
                outcome = fork.run_forked(execution, runs, nodes, waits=waits, limit=limit, caught=catch)
        except Exception as fault:
            self.fault = fault
            raise Unwind from None
        if catch:
            self._require_decided([signal for signal, _ in outcome], "one of the branches", doubts)
        return self._collect(outcome, nodes, catch=catch)

    def conflicts(self, blocks: Sequence[Block]) -> Sequence[tuple[int, int]]:
        execution = self._enter()
        waits = fork.waits_of(execution.run, self._step_blocks().nodes(blocks))
        return [(j, i) for i, before in enumerate(waits) for j in before]

    def _require_first(self, nodes: Sequence[BlockNode]) -> None:
        """Raise ``Undecided`` before a second round where one represents all of them."""
        if self.ran and not self._execution.services.backend.repeats:
            again = next((node for node in nodes if any(node is one for one in self.ran)), None)
            if again is not None:
                raise Undecided(f"what follows the first round of {again.name}")

    def _require_decided(self, signals: Sequence[Signal | None], what: str, doubts: int) -> None:
        """Raise ``Undecided`` when only a real run knows whether blocks fail whose failures are caught."""
        run = self._execution.run
        if run.doubts > doubts and all(signal is None or signal.rank is Rank.ENDED for signal in signals):
            self.may_end = any(signals)
            raise Undecided(f"whether {what} fails")

    def _note(self, node: BlockNode, key: int | None) -> None:
        """Reserve a key for one pass over a block; no other pass has the same."""
        if key in self._keys:
            raise RuntimeError(f"block key {key} was used already: every pass over a block needs its own")
        if node.cleanup and any(node is one for one in self.ran):
            raise RuntimeError(f"cleanup block {node.name!r} has run already: it runs once")
        self._keys.add(key)
        self.ran.append(node)

    def _collect(
        self,
        outcome: Sequence[tuple[Signal | None, Mapping[str, object]]],
        nodes: Sequence[BlockNode],
        *,
        catch: bool,
        cleanup: bool = False,
    ) -> list[BlockResult]:
        """Collect the signals of blocks, so that none is lost; a type that catches failures handles them itself."""
        results = [block_result(*one, node) for one, node in zip(outcome, nodes, strict=True)]
        kept = []
        for result, (signal, _), node in zip(results, outcome, nodes, strict=True):
            if signal is NOT_STARTED or (signal is not None and is_outcome(signal, node)):
                continue
            if catch and signal is not None and signal.rank is Rank.FAILED:
                self._caught.append((result, signal))
            else:
                kept.append(signal)
        self._execution.signals.add(kept, cleanup=cleanup)
        return require_outcomes(results, nodes)

    def reraise(self, *results: BlockResult) -> NoReturn:
        execution = self._enter(cleanup=True)
        signals = [signal for result in results for caught, signal in self._caught if caught is result]
        if not signals or len(signals) != len(results):
            raise RuntimeError("reraise takes results of blocks that failed and were caught (catch=True)")
        execution.signals.add(signals, first=True)
        raise Unwind

    # -- outside the run -----------------------------------------------------------------------------------------

    def call_tool(self, tool: str, action: str | None, inputs: Mapping[str, object]) -> Reply:
        execution = self._enter(acts=True)
        if not (kind := execution.compiled.type).calls_tools:
            message = f"steps of type {kind.name} declare that they call no tool, and step {self.step_id} called {tool}"
            raise StepProblem(ErrorKind.CONTRACT_EXCEEDED, message)
        node = execution.facts.runbook.tools.get(tool)
        if node is None:
            raise StepProblem(ErrorKind.TOOL_UNDECLARED, f"tool {tool!r} is not listed under `tools`")
        name = action_name(node, action)
        if not node.contracts[name].within(self.contract):
            message = f"{tool} {name} does more than the contract of step {self.step_id} declares"
            raise StepProblem(ErrorKind.CONTRACT_EXCEEDED, message)
        try:  # by hand, for every call: ``_faults`` takes ten times as long
            return call_tool(execution, node, name, dict(inputs))
        except RunError as fault:
            self.fault = fault
            raise Unwind from None

    def session(self, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002 - it opens
        execution = self._enter(acts=True)
        with self._faults():
            return execution.services.backend.session(execution, name, open)

    def drop_session(self, name: str) -> None:
        execution = self._enter(acts=True)
        execution.services.sessions.drop(execution.session_name(name), step=served_alone(execution))

    def ask(self, question: Question) -> Answer:
        execution = self._enter(acts=True)
        with self._faults():
            return execution.services.backend.ask(execution, question)

    def attach(self, path: str) -> Mapping[str, object]:
        execution = self._enter(acts=True)
        return execution.services.backend.attach(execution, path)


__all__ = ["AttemptContext"]
