"""One step, start to end: open, render, contract, govern, approve, start, attempt, check, close."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gert_core.api import (
    Completed,
    Ended,
    Errored,
    Failed,
    Flow,
    GertError,
    Principal,
    RunError,
    Status,
    StepProblem,
    TraceError,
    Undecided,
)
from gert_core.engine import approve, explore
from gert_core.engine.checks import check_contract, normalise
from gert_core.engine.close import apply_state, record_of
from gert_core.engine.door import Door
from gert_core.engine.frame import Done
from gert_core.engine.resolve import resolve_step_inputs
from gert_core.engine.signals import Failure, Keeper, Rank, Signal, Unwind
from gert_core.engine.state import View
from gert_core.engine.visibility import visible
from gert_core.template import TemplateError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Result
    from gert_core.engine.cancel import Deadline
    from gert_core.engine.compiled import Compiled
    from gert_core.engine.frame import Frame
    from gert_core.engine.run import Run
    from gert_core.engine.state import Layer

CANCELLED = Signal(rank=Rank.CANCELLED)


class Execution:
    """One execution of one step under one key; the methods stand in the order of the phases."""

    __slots__ = (
        "attempt",
        "as_item",
        "began",
        "deadline",
        "decision",
        "exported",
        "frame",
        "inputs",
        "jump",
        "keeper",
        "key",
        "layer",
        "maybe",
        "principal",
        "run",
        "scope",
        "step",
        "undecided",
        "unit",
    )

    def __init__(
        self, run: Run, unit: Compiled, frame: Frame, *, key: str, layer: Layer, as_item: bool = False
    ) -> None:
        self.run = run
        self.unit = unit
        self.frame = frame
        self.key = key
        self.layer = layer
        self.as_item = as_item
        self.keeper = Keeper()
        self.jump: str | None = None
        self.maybe = False
        self.undecided: Undecided | None = None
        self.attempt = 1
        self.began = 0.0
        self.inputs: Mapping[str, Any] = {}
        self.scope: tuple[str, ...] | None = None
        self.principal: Principal | None = unit.principal
        self.decision: Any = None
        self.deadline: Deadline = frame.deadline
        self.step: Any = None
        self.exported: list[str] = []

    def perform(self) -> Done:
        """Run the phases; whatever goes wrong becomes a status or a signal, never an exception of a plugin."""
        run = self.run
        if run.stop.thrown:
            return Done(status=Status.SKIPPED, signal=CANCELLED)
        self.began = time.perf_counter()
        if run.recall is not None:
            if self.unit.leaf and (record := run.recall.finished(self.key)) is not None:
                return self._recalled(record)
            run.recall.opening(self.frame.prefix, self.key)
        try:
            if not self._wanted():
                return self._skip("when")
            self.render()
        except StepProblem as problem:
            self._start()
            return self._close(Errored(kind=problem.kind, message=problem.message))
        if self.unit.governed:
            stopped = self._govern()
            if stopped is not None:
                return stopped
        self._start()
        return self._close(self._attempt())

    # -- open ----------------------------------------------------------------------------------------------------

    def _wanted(self) -> bool:
        if self.unit.when is None:
            return True
        try:
            return self.unit.when.test(self.layer)
        except TemplateError as error:
            raise StepProblem("template", f"when: {error.message}") from None
        except Undecided:
            self.maybe = True
            return True

    def _skip(self, reason: str) -> Done:
        self._start()
        return self.finish(Status.SKIPPED, {"reason": reason})

    def _recalled(self, record: Any) -> Done:
        """A finished leaf of an earlier process: its record, with no render, governance or event."""
        run = self.run
        if record.inputs is not None:
            run.determinism.remember(self.unit, record.inputs, record.outputs, status=record.status)
        self.inputs = record.inputs or {}
        self._render_scope(quiet=True)
        status = Status(record.status)
        self.exported = apply_state(self, status, record.outputs, record.fields)
        run.remember(self, status)
        run.progress.recalled(self)
        if record.outcome is not None:
            ended = Signal(rank=Rank.ENDED, outcome=record.outcome, outcome_key=self.key)
            return Done(status=status, signal=ended)
        failure = None
        if record.failure is not None:
            failure = Failure(key=self.key, step_id=self.unit.id, status=str(status), **record.failure)
        return self._done(status, record.outputs, failure, reason=record.reason)

    # -- render --------------------------------------------------------------------------------------------------

    def render(self) -> None:
        """Render the step's own fields, its scope and its inputs."""
        partial = self.run.world.symbolic
        try:
            self.step = self.unit.body.render(self.layer)
        except Undecided as undecided:
            self.undecided = undecided
            self.step = self.unit.body.render(self.layer, partial=True)
        except TemplateError as error:
            raise StepProblem("template", error.message) from None
        self._render_scope()
        if self.unit.has_inputs:
            self.inputs = resolve_step_inputs(self, partial=partial)
        elif self.unit.leaf:
            self.inputs = self.step.model_dump(by_alias=True, exclude_unset=True)

    def _render_scope(self, *, quiet: bool = False) -> None:
        if self.unit.scope is None:
            return
        try:
            text = str(self.unit.scope.render(self.layer))
        except Undecided:
            text = str(self.unit.scope.render_partial(self.layer))
        except TemplateError as error:
            if quiet:
                return
            raise StepProblem("template", f"scope: {error.message}") from None
        self.scope = tuple(part for part in text.replace(".", "/").split("/") if part)
        if not self.scope:
            raise StepProblem("template", f"scope: {text!r} names no scope")

    # -- contract, govern, approve -------------------------------------------------------------------------------

    def _govern(self) -> Done | None:
        run, unit = self.run, self.unit
        category = str(unit.outcome(self.step).category) if unit.outcome is not None else None
        self.decision, contract_bytes, decision_bytes = run.governed(unit, category)
        self.add("contract_evaluated", {}, encoded=contract_bytes)
        self.add("governance_decision", {}, encoded=decision_bytes)
        if self.decision.denied and run.world.enforces:
            failure = Failure(
                key=self.key,
                step_id=unit.id,
                status="skipped",
                kind="governance_denied",
                message=self.decision.reason,
            )
            return self.finish(Status.SKIPPED, {"reason": "governance_denied"}, denied=failure)
        if self.decision.needs_approval and run.world.enforces and run.world.will_execute(self):
            return approve.ask(self)
        return None

    # -- start ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        unit, fields = self.unit, self.unit.node.fields
        data: dict[str, Any] = {"step_id": unit.id, "type": unit.type.name}
        if unit.leaf:
            data["contract_summary"] = unit.summary
            data["inputs"] = self.inputs
            data["idempotency_key"] = self.run.idempotency_key(self.key)
        if fields.extensions:
            data["extensions"] = fields.extensions
        self.add("step_start", data)
        if fields.visibility is not None and self.step is not None:
            self._trace_visibility(fields.visibility)
        if self.run.recall is not None and unit.leaf:
            before = self.run.recall.attempts(self.key)
            if before:
                self.attempt = before + 1
                self.add("step_attempt", {"step_id": unit.id, "attempt": self.attempt, "reason": "resumed"}, fresh=True)
        self.run.progress.started(self)

    def _trace_visibility(self, rule: Any) -> None:
        view = visible(self.layer.names_visible(), rule)
        data = {"step_id": self.unit.id, "allow": rule.allow, "deny": rule.deny}
        self.add("visibility_applied", {**data, "filtered_view_hash": self.run.hash_of(view)})

    # -- attempt -------------------------------------------------------------------------------------------------

    def _attempt(self) -> Result | None:
        """Check, then the canned result or the type's own ``run``; None when a signal took over."""
        run, unit = self.run, self.unit
        self.deadline = self.frame.deadline.within(unit.timeout)
        if unit.leaf:
            canned = run.world.canned(self)
            if canned is not None:
                return canned
        if self.undecided is not None and unit.type.flow is not Flow.TERMINAL:
            return explore.undecided(self, self.undecided)
        door = Door(self)
        try:
            result: Result = unit.run(self.step, door)
        except Unwind:
            return None
        except StepProblem as problem:
            if self.deadline.cancelled:
                self.keeper.keep([CANCELLED])
                return None
            kind = Failed if problem.failed else Errored
            return kind(kind=problem.kind, message=problem.message, detail=problem.detail)
        except Undecided as undecided:
            return explore.undecided(self, undecided)
        except TemplateError as error:
            return Errored(kind="template", message=error.message)
        except (TraceError, RunError):
            raise
        except GertError as error:
            return Errored(kind=error.kind, message=error.message)
        except Exception as error:  # a plugin's fault must not take the run down with a traceback
            run.note_fault(error)
            text = f"{unit.type.name} step failed inside its plugin: {type(error).__name__}: {error}"
            return Errored(kind="plugin_failed", message=text)
        finally:
            door.shut()
        if self.deadline.stopped and self.keeper.kept is None:
            return self._late(result)
        return self._sane(result)

    def _late(self, result: Result) -> Result | None:
        if self.deadline.cancelled:
            # The step did finish: keep its result, the list stops at the next step.
            return self._sane(result)
        return Errored(kind="timeout", message=f"took longer than {format_duration(self.unit.timeout or 0.0)}")

    def _sane(self, result: Result) -> Result | None:
        """What a type returned, if it is one of the four results and allowed for its flow."""
        if self.keeper.kept is not None:
            return None
        name = self.unit.type.name
        if isinstance(result, Ended) and self.unit.type.flow is not Flow.TERMINAL:
            return Errored(kind="plugin_failed", message=f"{name} ended the run but is no terminal step type")
        if not isinstance(result, Completed | Failed | Errored | Ended):
            return Errored(kind="plugin_failed", message=f"{name} returned {type(result).__name__}, not a result")
        return result

    # -- contract check, close -----------------------------------------------------------------------------------

    def _close(self, result: Result | None) -> Done:
        if self.keeper.kept is not None:
            return self._close_signal(self.keeper.kept)
        assert result is not None  # noqa: S101 - without a kept signal there is a result
        if isinstance(result, Ended):
            return self._close_end(result)
        outputs: Mapping[str, Any] = {} if isinstance(result, Errored) else result.outputs
        try:
            outputs = normalise(outputs)
            if self.unit.external and not isinstance(result, Errored):
                outputs = check_contract(self, outputs, failed=isinstance(result, Failed))
            fields = normalise(result.fields)
        except StepProblem as problem:
            result, outputs, fields = Errored(kind=problem.kind, message=problem.message), {}, {}
        if result.principal is not None and self.principal is None:
            self.principal = result.principal
        status, failure = Status.SUCCESS, None
        if isinstance(result, Failed | Errored):
            status = Status.FAILED if isinstance(result, Failed) else Status.ERROR
            failure = {"kind": result.kind, "message": result.message}
        return self.finish(status, record_of(outputs, fields, failure, result.detail))

    def _close_end(self, result: Ended) -> Done:
        outcome = result.outcome
        signal = Signal(rank=Rank.ENDED, outcome=outcome, outcome_key=self.key)
        done = self.finish(Status.SUCCESS, {"outcome": outcome.to_json()})
        self.run.progress.possible(outcome)
        done.signal = signal
        return done

    def _close_signal(self, kept: Signal) -> Done:
        """A step with blocks whose block raised a signal: failed and ended close it, the rest leave it open."""
        if kept.rank in (Rank.CANCELLED, Rank.SUSPENDED):
            self.run.progress.left(self, kept)
            return Done(status=Status.SKIPPED, signal=kept)
        if kept.rank is Rank.ENDED:
            done = self.finish(Status.SUCCESS, {})
            done.signal = kept
            return done
        first = next((f for f in kept.failures if f.status == kept.status), kept.failures[0])
        status = Status.ERROR if kept.status == "error" else Status.FAILED
        failure = {"kind": first.kind, "message": f"step {first.key}: {first.message}"}
        done = self.finish(status, {"failure": failure}, cause=kept)
        return done

    def finish(
        self, status: Status, data: dict[str, Any], *, denied: Failure | None = None, cause: Signal | None = None
    ) -> Done:
        """Update the state, write ``step_complete`` as the last event of the key, and say how to go on."""
        run, unit = self.run, self.unit
        outputs, fields = data.get("outputs", {}), data.get("fields", {})
        try:
            self.exported = apply_state(self, status, outputs, fields)
        except StepProblem as problem:
            status = Status.ERROR
            data = {**data, "failure": {"kind": problem.kind, "message": problem.message}}
        if self.exported:
            scope = "/".join(self.scope) if self.scope else None
            self.add("scope_export", {"step_id": unit.id, "scope": scope, "exported_vars": self.exported})
        hits = run.masker.hits(data) if run.masker.count else 0
        if hits:
            self.add("redaction_applied", {"step_id": unit.id, "pattern_count": hits})
        duration = run.world.elapsed(self.began)
        self.add(
            "step_complete",
            {"step_id": unit.id, "status": str(status), **data, "duration": format_duration(duration)},
        )
        if unit.contract.writing and not unit.contract.idempotent and unit.leaf:
            run.journal.sync()
        else:
            run.journal.commit()
        run.remember(self, status)
        run.progress.finished(self, status, data, duration)
        failure = None
        if cause is None and "failure" in data:
            failure = Failure(key=self.key, step_id=unit.id, status=str(status), **data["failure"])
        if denied is not None:
            return Done(status=status, signal=Signal(rank=Rank.DENIED, failures=(denied,)))
        if cause is not None and cause.rank is Rank.DENIED:
            return Done(status=status, signal=cause)
        return self._done(status, outputs, failure, cause=cause)

    def _done(
        self,
        status: Status,
        outputs: Mapping[str, Any],
        failure: Failure | None,
        *,
        cause: Signal | None = None,
        reason: str | None = None,
    ) -> Done:
        if status in (Status.FAILED, Status.ERROR) and not self.unit.node.fields.continue_on_fail:
            signal = cause or Signal(rank=Rank.FAILED, failures=(failure,) if failure else ())
            return Done(status=status, outputs=outputs, signal=signal)
        if reason in ("governance_denied", "approval_rejected"):
            denied = failure or Failure(
                key=self.key, step_id=self.unit.id, status="skipped", kind=reason, message=reason
            )
            return Done(status=status, signal=Signal(rank=Rank.DENIED, failures=(denied,)))
        return Done(status=status, outputs=outputs, jump=self.jump)

    # -- shared --------------------------------------------------------------------------------------------------

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, Any],
        *,
        encoded: bytes | None = None,
        principal: Principal | None = None,
        fresh: bool = False,
    ) -> None:
        """Add an event of this step."""
        self.run.journal.add(
            type,
            data,
            key=self.key,
            principal=principal or self.principal,
            branch=self.frame.branch,
            encoded=encoded,
            fresh=fresh,
        )

    def view(self, bind: Mapping[str, Any] | None = None) -> View | Layer:
        """The variables as this step sees them, with its type's own names bound."""
        return self.layer if not bind else View(self.layer, {self.unit.type.name: bind})


__all__ = ["CANCELLED", "Execution"]
