"""A run, start to end: what all its steps share, and its result."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.engine.cancel import Deadline, Stop
from gert_core.engine.flow.frame import Frame
from gert_core.engine.flow.lists import run_list
from gert_core.engine.run_events import write_abandoned, write_end, write_start
from gert_core.engine.sessions import Sessions
from gert_core.engine.state import Layer
from gert_core.engine.steps.outputs import Determinism
from gert_core.kit.log import fault as log_fault
from gert_core.runs.result import RunResult
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalProvider, Outcome
    from gert_core.documents.tree import Path as Place
    from gert_core.documents.tree import Runbook
    from gert_core.engine.journal import Journal
    from gert_core.engine.modes.base import Backend
    from gert_core.engine.progress import Progress
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.steps.compiled import CompiledRunbook, CompiledStep
    from gert_core.governance import Decision, Policies
    from gert_core.inputs import ResolvedInputs
    from gert_core.plugin.config import PluginServices
    from gert_core.plugin.registry import Registry
    from gert_core.runs.directory import RunDirectory
    from gert_core.secrets import Masker, Secrets


class Run(Struct, kw_only=True, eq=False):
    """Everything the steps of one run share."""

    run_id: str
    compiled: CompiledRunbook
    registry: Registry
    policies: Policies
    journal: Journal
    backend: Backend
    masker: Masker
    secrets: Secrets
    services: PluginServices
    progress: Progress
    inputs: ResolvedInputs
    constants: Mapping[str, Any]
    directory: RunDirectory | None
    mode: str
    actor: str
    environ: Mapping[str, str]
    approval: ApprovalProvider | None = None
    recorded: Recorded | None = None
    stop: Stop = field(default_factory=Stop)
    sessions: Sessions = field(default_factory=Sessions)
    determinism: Determinism = field(default_factory=Determinism)
    faults: list[BaseException] = field(default_factory=list)
    possible: list[Outcome] = field(default_factory=list)
    """Every end that was reached; a rehearsal may reach several."""
    _governed: dict[tuple[Place, str | None], tuple[Decision, bytes, bytes]] = field(default_factory=dict)

    @property
    def runbook(self) -> Runbook:
        """The runbook as it was read."""
        return self.compiled.runbook

    # -- start to end --------------------------------------------------------------------------------------------

    def execute(self) -> RunResult:
        """Run the whole runbook and write its last event; only a fault of the trace or of gert itself prevents that."""
        began = time.perf_counter()
        layer = Layer()
        layer.run = {"id": self.run_id, "runbook": self.runbook.name, "actor": self.actor, "mode": self.mode}
        layer.bind(self.inputs.values)
        layer.bind(self.constants)
        if self.recorded is None:
            write_start(self)
        frame = Frame(layer=layer, prefix="", deadline=Deadline(self.stop))
        try:
            signal = run_list(self, self.runbook.root, frame)
        finally:
            self.sessions.close()
        outcome = write_end(self, signal, layer, time.perf_counter() - began)
        for remark in self.backend.remarks(self):
            self.progress.warn(remark)
        undecided = self.backend.symbolic and outcome is None
        return RunResult(
            state=self.journal.state,
            trace=self.journal.writer.path,
            variables=layer,
            possible=tuple(self.possible) if undecided else (),
        )

    def cancel(self, reason: str) -> None:
        """Stop everything; called from a thread of its own, never from a signal handler."""
        self.stop.throw(reason)

    def abandon(self) -> None:
        """Write the end of a cancelled run although something still hangs."""
        write_abandoned(self)

    # -- asked by the phases -------------------------------------------------------------------------------------

    def note_fault(self, fault: BaseException) -> None:
        """Keep the exception of a plugin; shown in full only when debugging."""
        self.faults.append(fault)
        log_fault("engine", fault, environ=self.environ, mask=self.masker.mask_text)

    def idempotency_key(self, key: str) -> str:
        """The same for every attempt of the same step key of this run."""
        return hashlib.sha256(f"{self.run_id}\n{key}".encode()).hexdigest()

    def hash_of(self, value: Any) -> str:
        """SHA-256 of masked, canonical data."""
        return "sha256:" + hashlib.sha256(canonical(self.masker.mask(value))).hexdigest()

    def governed(self, compiled: CompiledStep, category: str | None) -> tuple[Decision, bytes, bytes]:
        """The decision about a step with both of its events encoded, which is done once per contract and decision."""
        key = (compiled.contract_key, category)
        found = self._governed.get(key)
        if found is None:
            decision = self.policies.decide(compiled.contract, outcome=category)
            encode = self.journal.writer.encode
            contract = {"resolved_contract": compiled.contract.to_json(), "writing": compiled.contract.writing}
            found = self._governed[key] = decision, encode(contract)[1:], encode(decision.to_json())[1:]
        # Steps with the same contract share its encoding; only the step's id differs.
        lead = compiled.lead
        return found[0], lead + found[1], lead + found[2]


def default_actor(environ: Mapping[str, str]) -> str:
    """Who runs this: as the environment says, else as the operating system knows the user."""
    named = environ.get("GERT_ACTOR") or environ.get("USER") or environ.get("LOGNAME")
    if named:
        return named
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):  # a user id without a name, as in many containers
        return f"uid-{os.getuid()}"


__all__ = ["Run", "default_actor"]
