"""Execute one step: open, render, contract, govern, approve, start, attempt, check, close."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Errored, ErrorKind, EventType, Principal, StepProblem, StepStatus, Undecided
from gert_core.engine.again import SecretNeeded
from gert_core.engine.flow.frame import Done
from gert_core.engine.journal import KERNEL
from gert_core.engine.progress import StepInfo
from gert_core.engine.signals import CANCELLED, Failure, Rank, Signal, SignalCollector
from gert_core.engine.state import RUNNING
from gert_core.engine.steps.attempt import attempt
from gert_core.engine.steps.attempts import continue_attempts
from gert_core.engine.steps.close import close, close_recorded, finish
from gert_core.engine.steps.compiled import summary_of
from gert_core.engine.steps.render import render_scope, render_step
from gert_core.engine.steps.unable import postponed
from gert_core.engine.steps.visibility import trace_visibility
from gert_core.engine.view import View
from gert_core.governance.rules import Act
from gert_core.plugin.functions import PluginFault
from gert_core.plugin.kinds import STEP
from gert_core.template import Symbol, TemplateError
from gert_core.trace.writer import EventDataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, Contract, Gate
    from gert_core.engine.cancel import Deadline
    from gert_core.engine.flow.frame import Frame
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.run import Run
    from gert_core.engine.state import Layer
    from gert_core.engine.steps.claims import ExecutionClaim
    from gert_core.engine.steps.compiled import CompiledStep
    from gert_core.template import Condition

_ALLOW: Final = str(Act.ALLOW)
"""Compared with for every step: to look up a member of an enumeration takes longer."""


class StepExecution:
    """One execution of one step under one key; the methods are in the order of the phases.

    ``facts`` and ``services`` are the run's, ``compiled`` is the step as it is in the document, ``frame`` that of the
    list it is in; everything else is set by the phases.
    """

    __slots__ = (
        *("_info", "acted", "approved", "approvers", "attempt", "began", "calls", "claim", "collected"),
        *("compiled", "contract", "deadline", "decision", "description", "doubts", "exported", "facts", "frame"),
        *("gate", "idempotency_key", "inputs", "item", "jump", "key", "layer", "maybe", "principal", "read_late"),
        *("rendered_levels", "run", "scope", "services", "signals", "step", "substituted", "uncertain", "undecided"),
        "under_approval",
    )

    approved: tuple[ApprovalRequest, int]
    """The request that was approved, and how many before it became void; set by the approve phase."""

    def __init__(
        self, run: Run, compiled: CompiledStep, frame: Frame, *, key: str, layer: Layer, item: int | None = None
    ) -> None:
        self.run = run
        self.facts = run.facts
        self.services = run.services
        self.compiled = compiled
        self.frame = frame
        self.key = key
        self.layer = layer
        self.item = item
        """The number of the item of the step's ``for_each`` that this is, if it is one."""
        self._info: StepInfo | None = None
        self.collected = False
        self.signals = SignalCollector()
        self.jump: str | None = None
        self.maybe = False
        self.undecided: Undecided | None = None
        self.doubts = run.doubts
        """In dry-run: how many results of the run were unknown when the step began."""
        self.substituted = False
        """Whether the backend gave the result instead of the step's type."""
        self.uncertain = False
        """In dry-run: whether the step's status is known only in a real run, and the run continues in any case."""
        self.attempt = 1
        self.read_late = False
        """Whether the last call of a tool ended in time and was read after the deadline."""
        self.acted = False
        """Whether a call of a tool in the attempt may have taken effect."""
        self.calls = 0
        """The number of tool calls of the attempt so far."""
        self.idempotency_key = ""
        """The key of the step's first call, once the step has started."""
        self.claim: ExecutionClaim | None = None
        """What is to be used before anything is done, when the step was approved."""
        self.gate: Gate | None = None
        """The approval that the step demands by itself."""
        self.approvers: tuple[str, ...] = ()
        self.began = 0.0
        self.inputs: Mapping[str, Any] = {}
        self.scope: tuple[str, ...] | None = None
        self.principal: Principal | None = run.facts.acting if compiled.acts_for else compiled.principal
        self.description: str | None = compiled.description
        """What the author says about it; one with templates is there once they are rendered."""
        self.contract = compiled.contract
        """What the step declares: as it is written and, where that depends on templates, as it is rendered."""
        self.rendered_levels: tuple[Contract, ...] = ()
        """The levels of the rendered step's contract where they are others than those of the step as it is written."""
        self.decision: Any = None
        self.under_approval = False
        """Whether the decision demands an approval, so that the step has peers of its own."""
        self.deadline: Deadline = frame.deadline
        self.step: Any = None
        self.exported: list[str] = []

    def perform(self) -> Done:
        """Run the phases; every error becomes a status or a signal, never an exception of a plugin."""
        services, compiled = self.services, self.compiled
        if (ended := CANCELLED if services.stop.thrown else services.requested.signal) is not None:
            return Done(status=StepStatus.SKIPPED, signal=ended)
        self.began = time.perf_counter()
        self.doubts = self.run.doubts
        if services.recorded is not None:
            if compiled.leaf and (record := services.recorded.finished(self.key)) is not None:
                if compiled.gated and record.status == StepStatus.SUCCESS:
                    from gert_core.engine.steps.gates import confirm_gate

                    confirm_gate(self)
                render_scope(self, quiet=True)
                return close_recorded(self, record)
            services.recorded.follow(self.frame.prefix, self.key)
            if services.recorded.gates and services.recorded.gates.waits(self):
                return Done(status=StepStatus.SKIPPED, signal=Signal(rank=Rank.SUSPENDED))
        try:
            if compiled.when is not None and not self._wanted(compiled.when):
                if services.recorded is not None:
                    services.recorded.gates.refuse_skipped(self.key)
                return self._skip("when")
            render_step(self)
            category = None if compiled.type.outcome is None else self._category()
        except (StepProblem, PluginFault) as problem:
            if services.recorded is not None:
                services.recorded.gates.refuse_skipped(self.key)
            return self._unable(problem.kind, problem.message)
        except SecretNeeded as need:
            return postponed(self, need)
        if compiled.governed and (stopped := self.govern(category)) is not None:
            return stopped
        try:
            self.start()
        except EventDataError as error:
            return self.unwritable(error.__context__)
        if self.claim is not None:
            self.claim.start(self)
        if not compiled.leaf:
            self._enter()
        if compiled.retry is not None:
            from gert_core.engine.steps.retrying import run_attempts

            return run_attempts(self, compiled.retry)
        if compiled.timeout is not None:  # from now on
            self.deadline = self.frame.deadline.within(compiled.timeout, limit=compiled.limit)
        return close(self, attempt(self))

    def _enter(self) -> None:
        """Set the status of a step whose blocks are going to run; a dry-run says what is known of them."""
        if self.item is None:
            self.layer.set_status(self.compiled.id, RUNNING)
        if self.services.backend.symbolic and not self.compiled.single:
            from gert_core.engine.steps.outline import outline_of

            self.services.progress.outlined(self.info, outline_of(self))

    def _wanted(self, when: Condition) -> bool:
        try:
            return when.test(self.layer)
        except TemplateError as error:
            raise StepProblem(ErrorKind.TEMPLATE, f"when: {error.message}") from None
        except Undecided:
            self.maybe = True
            return True
        except SecretNeeded as need:
            from gert_core.engine.resume.lost import was_wanted

            return was_wanted(self, need)

    def _unable(self, kind: str, message: str) -> Done:
        """Close a step that cannot be executed."""
        self.start(acting=False)
        return close(self, Errored(kind=kind, message=message))

    def unwritable(self, error: BaseException | None) -> Done:
        """Close a step whose inputs cannot be recorded, which must not be executed without a record."""
        self.inputs = {}
        return self._unable(ErrorKind.WRONG_TYPE, f"the inputs of the step cannot be written as JSON: {error}")

    def _skip(self, reason: str) -> Done:
        self.start(acting=False)
        return finish(self, StepStatus.SKIPPED, {"reason": reason})

    # -- contract, govern, approve -------------------------------------------------------------------------------

    def _category(self) -> str | None:
        """Return the category of the outcome of a step that ends the run."""
        outcome = self.facts.runbook.functions.outcome(self.compiled.node, self.step)
        return None if outcome is None else str(outcome.category)

    def govern(self, category: str | None) -> Done | None:
        """Return None when the step may run; else its result: denied, or not approved."""
        backend, compiled = self.services.backend, self.compiled
        self.decision, contract_bytes, decision_bytes = self.run.decisions.of(self, category)
        self.add(EventType.CONTRACT_EVALUATED, {}, encoded=contract_bytes, principal=KERNEL)
        if self.services.recorded is None or not self._recalled(self.services.recorded):
            self.add(EventType.GOVERNANCE_DECISION, {}, encoded=decision_bytes, principal=KERNEL, fresh=True)
        if self.decision.action == _ALLOW:
            return None
        if self.decision.denied and backend.enforces:
            kind, why = ErrorKind.GOVERNANCE_DENIED, self.decision.reason
            failure = Failure(key=self.key, step_id=compiled.id, status="skipped", kind=kind, message=why)
            data = {"type": compiled.type.name, "reason": kind, "message": why}
            return finish(self, StepStatus.SKIPPED, data, denied=failure)
        self.under_approval = self.decision.needs_approval
        if self.under_approval and backend.enforces and backend.will_execute(self):
            from gert_core.engine.steps.approval import approve

            return approve(self)
        return None

    def _recalled(self, recorded: Recorded) -> bool:
        from gert_core.engine.steps.recalled import recalled  # only a resumed run needs it

        return recalled(self, recorded)

    def start(self, *, acting: bool = True) -> None:
        """Write ``step_start``; a step that is not executed gets no idempotency key: its outcome is known."""
        compiled, fields = self.compiled, self.compiled.node.fields
        data: dict[str, object] = {"step_id": compiled.id, "type": compiled.type.name}
        if self.description is not None:
            data["description"] = self.description
        if compiled.leaf:
            data["contract_summary"] = summary_of(self.contract) if self.rendered_levels else compiled.summary
            data["inputs"] = self.inputs
            if acting:
                data["idempotency_key"] = self.idempotency_key = self.facts.idempotency_key(self.key)
            if self.frame.quiet:
                data["quiet"] = True
        if fields.extensions:
            data["extensions"] = fields.extensions
        self.add(EventType.STEP_START, data)
        if fields.visibility is not None and self.step is not None:
            trace_visibility(self, fields.visibility)
        if self.services.recorded is not None and compiled.leaf and acting:
            continue_attempts(self, self.services.recorded)
        if self.services.progress.listens:
            self.services.progress.started(self.info)

    @property
    def info(self) -> StepInfo:
        """The execution as a record for progress; complete once it is known whether the step may be skipped."""
        if (info := self._info) is None:
            compiled = self.compiled
            info = self._info = StepInfo(
                key=self.key,
                step_id=compiled.id,
                type=compiled.type.name,
                depth=self.frame.depth,
                leaf=compiled.leaf,
                loop=compiled.over is not None and self.item is None,
                item=self.item,
                maybe=self.maybe or self.doubts > self.frame.ignored_doubts,
                continues=self.continues,
                caught=self.frame.caught,
                gated=compiled.gated,
                description=self.description,
                quiet=self.frame.quiet,
                single=compiled.single,
                label=self.frame.label if self.item is None else "",
            )
        return info

    @property
    def continues(self) -> bool:
        """Whether the run continues when the step fails, whatever the steps around it decide."""
        return self.compiled.node.fields.continue_on_fail or self.frame.continues

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, object],
        *,
        encoded: bytes | None = None,
        principal: Principal | None = None,
        fresh: bool = False,
    ) -> None:
        """Add an event of this step."""
        by = self.principal if principal is None else principal
        self.services.journal.add(type, data, self.key, by, self.frame.branch, encoded, fresh)

    def session_name(self, name: str) -> str:
        """Return the name of a session among those of all plugins: names belong to the plugin of the step's type."""
        (owner,) = self.facts.registry.providers(STEP, self.compiled.type.name)
        return f"plugin:{owner.name}:{self.facts.document}:{name}"

    def status(self, status: StepStatus) -> object:
        """Return a status as a variable: its word, or in dry-run a symbol when it is not known."""
        return Symbol(f"{{{{ .{self.compiled.id}.status }}}}") if self.uncertain else str(status)

    def view(self, bind: Mapping[str, object] | None = None, layer: Layer | None = None) -> View | Layer:
        """Return the variables of this step or of a layer below it, with its type's own names bound."""
        layer = layer or self.layer
        return layer if not bind else View(layer, {self.compiled.type.name: bind})


__all__ = ["StepExecution"]
