"""One run: its facts, the services its steps use, and its execution from start to end."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.api import RunError
from gert_core.documents.generated import document_digests
from gert_core.engine.cancel import Deadline, Stop
from gert_core.engine.flow.frame import Frame
from gert_core.engine.flow.lists import run_list
from gert_core.engine.requested import Requested
from gert_core.engine.run_events import write_abandoned, write_end, write_start
from gert_core.engine.sessions import Sessions
from gert_core.engine.signals import Failure, Rank, Signal
from gert_core.engine.state import Layer
from gert_core.engine.steps.decisions import Decisions
from gert_core.engine.steps.outputs import Determinism
from gert_core.engine.waits import Waits
from gert_core.governance.policies import KEYS_BY_ENVIRONMENT
from gert_core.kit.log import fault as log_fault
from gert_core.kit.owners import account_name
from gert_core.plugin.functions import PluginFault
from gert_core.plugin.printing import replaced_stdout
from gert_core.runs.result import RunResult
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.api import ApprovalProvider, Outcome, Principal, RunStore, StoredRun
    from gert_core.documents.tree import Runbook
    from gert_core.engine.denial import Restricted
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.journal import Journal
    from gert_core.engine.modes.base import Backend
    from gert_core.engine.progress import Progress
    from gert_core.engine.resume.abort import Abort
    from gert_core.engine.resume.plan import Resumption
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies
    from gert_core.inputs import ResolvedInputs
    from gert_core.kit.children import Children
    from gert_core.plugin.config import PluginServices
    from gert_core.plugin.registry import Registry
    from gert_core.runs.choices import RunChoices
    from gert_core.runs.outputs import OutputFiles
    from gert_core.secrets import Masker, Secrets


class RunFacts(Struct, frozen=True, kw_only=True, eq=False):
    """The facts of a run, fixed before its first step."""

    run_id: str
    compiled: CompiledRunbook
    registry: Registry
    policies: Policies
    secrets: Secrets
    inputs: ResolvedInputs
    constants: Mapping[str, object]
    mode: str
    actor: str
    acting: Principal | None
    """Whom tool and extension steps are attributed to: the actor, if one was given to this process."""
    os_user: str
    """The operating system's name of the user who started the run; ``actor`` is what they claim."""
    started: str
    """When the run was started, RFC 3339."""
    environ: Mapping[str, str]
    choices: RunChoices
    store: RunStore | None = None
    stored: StoredRun | None = None
    """The run in its store; ``None`` for a run that is not kept."""
    trace: Path | None = None
    """The file with its trace, where that is a file."""
    cwd: str | None = None
    """The directory in which programs start; ``None``: gert's own."""
    approval: ApprovalProvider | None = None
    questions: str = "ask"
    """What becomes of a question of a step: ``ask``, ``suspend`` or ``fail``."""
    resumption: Resumption | None = None
    """How a recorded run goes on; ``None`` when this process started the run."""
    documents: IncludedDocuments | None = None
    """What the runbooks that it includes bring along; ``None`` when there are none."""
    denial: Restricted | None = None
    """The step that ends the run before anything is run, because it is certainly denied."""
    notify: Sequence[Mapping[str, object]] = ()
    """Who is told of the run, for ``run_start``."""
    document: str = ""
    """The path of an included runbook, while its steps run; empty for the runbook that is run."""
    callers: tuple[str, ...] = ()
    """The digests of the runbooks around an included one, the outermost first."""

    @property
    def runbook(self) -> Runbook:
        """The runbook as it was read."""
        return self.compiled.runbook

    @property
    def digests(self) -> dict[str, object]:
        """The digests of the documents of the run."""
        return document_digests(self.runbook, None if self.documents is None else self.documents.policy_digests())

    @property
    def actors(self) -> frozenset[str]:
        """The ids of who started the run: the one that was claimed, and the operating system's, also by its directory.

        What a trace says of them can be written anew while it has no seal; whose a directory is cannot.
        """
        return frozenset((self.actor, self.os_user, "" if self.stored is None else self.stored.owner)) - {""}

    def idempotency_key(self, key: str, call: int = 1) -> str:
        """Return a key that is the same for every attempt of the same step key of this run.

        ``call`` is the number of the tool call in the attempt; the first one has the key of the step.
        """
        text = f"{self.run_id}\n{key}" if call <= 1 else f"{self.run_id}\n{key}\n{call}"
        return hashlib.sha256(text.encode()).hexdigest()


class RunServices(Struct, frozen=True, kw_only=True, eq=False):
    """The services that the steps of a run use; ``recorded`` is what an earlier process of it did."""

    journal: Journal
    backend: Backend
    masker: Masker
    plugins: PluginServices
    progress: Progress
    stop: Stop = field(default_factory=Stop)
    leave: Stop | None = None
    """Thrown with ``stop``, and by hosts alone when what waits for people is to suspend the run."""
    requested: Requested = field(default_factory=Requested)
    """What somebody asked for while the run is executed."""
    recorded: Recorded | None = None
    sessions: Sessions = field(default_factory=Sessions)
    determinism: Determinism = field(default_factory=Determinism)
    waits: Waits = field(default_factory=Waits)
    children: Children
    """The programs that are running."""

    def digest(self, value: object) -> str:
        """Return the SHA-256 of masked, canonical data."""
        return "sha256:" + hashlib.sha256(canonical(self.masker.mask(value))).hexdigest()


class Run:
    """One run: its facts, its services, and its result so far."""

    __slots__ = (
        *("_documents", "abort", "decisions", "doubts", "facts", "faults", "outputs", "possible", "ready", "services"),
        *("refusals", "top"),
    )

    def __init__(self, facts: RunFacts, services: RunServices) -> None:
        self.facts = facts
        self.services = services
        self.decisions = Decisions(facts.policies, services.journal.writer.encode, actor=facts.actor)
        self.top: Run = self
        """The run that this is part of, for an included runbook; else the run itself."""
        self._documents = ""
        self.outputs: OutputFiles | None = None
        """What tools that take long write; made when one does."""
        self.abort: Abort | None = None
        """Which steps are still entered, when the run is resumed only to be ended."""
        if facts.resumption is not None and facts.resumption.abort and services.recorded is not None:
            from gert_core.engine.resume.abort import Abort as Ending

            self.abort = Ending(services.recorded, facts.resumption)
        self.faults: list[BaseException] = []
        """The exceptions that plugins raised."""
        self.doubts = 0
        """In dry-run and probe: how many steps so far had a result that is known only in a real run."""
        self.refusals: list[int] = []
        """Which of these, counted from 1, a denial or a rejection may be: after it no step around it continues."""
        self.ready = False
        """Whether everything that branches need is imported."""
        self.possible: list[Outcome] = []
        """Every end that was reached; a dry-run may reach several."""

    def execute(self) -> RunResult:
        """Run the whole runbook and write its last event; only an error of the trace or a bug prevents that."""
        began = time.perf_counter()
        facts, services = self.facts, self.services
        frame = Frame(layer=self.variables(), prefix="", deadline=Deadline(services.stop))
        write_start(self)
        if facts.policies.keys_by_environment and services.backend.enforces and facts.mode != "replay":
            services.progress.warn(KEYS_BY_ENVIRONMENT)
        written = services.journal.writer.seq
        try:
            with replaced_stdout():
                signal = self._run_steps(frame) if facts.denial is None else _deny(self, facts.denial, frame)
            if signal is not None and signal.rank is Rank.SUSPENDED and signal.idle:
                from gert_core.engine.stating import go_on

                go_on(self, signal, written)
        except RunError as error:
            from gert_core.engine.stating import suspend_refused

            suspend_refused(self, error, time.perf_counter() - began)
            raise
        outcome = write_end(self, signal, frame.layer, time.perf_counter() - began)
        for remark in services.backend.remarks(self):
            services.progress.warn(remark)
        undecided = services.backend.symbolic and outcome is None
        return RunResult(
            state=services.journal.state,
            trace=facts.trace,
            stored=facts.stored,
            book=facts.runbook,
            variables=frame.layer,
            possible=tuple(self.possible) if undecided else (),
        )

    @property
    def documents(self) -> str:
        """The digest of the documents, to which an approval is bound."""
        top = self.top
        if not top._documents:
            top._documents = documents_digest(top.facts.digests, top.facts.policies)
        return top._documents

    def reach(self, outcome: Outcome) -> None:
        """Take note of an end that was reached."""
        self.possible.append(outcome)
        self.services.progress.possible(outcome)

    def run_lists(self, frame: Frame) -> Signal | None:
        """Run the steps of the runbook and its cleanup; return what stopped them."""
        signal = run_list(self, self.facts.runbook.root, frame)
        if self.facts.runbook.cleanup:
            from gert_core.engine.flow.closing import close_run

            signal = close_run(self, frame, signal)
        return signal

    def _run_steps(self, frame: Frame) -> Signal | None:
        try:
            return self.run_lists(frame)
        except PluginFault as fault:  # between steps: a function that worked before the run
            failure = Failure(key="", step_id="", status="error", kind=fault.kind, message=fault.message)
            return Signal(rank=Rank.FAILED, failures=(failure,))
        finally:
            self.services.sessions.close()

    def variables(self) -> Layer:
        """Return the variables before the first step."""
        facts, layer = self.facts, Layer()
        layer.book = facts.runbook.by_id
        layer.run = run_variables(
            facts.run_id, facts.runbook.name, actor=facts.actor, mode=facts.mode, started=facts.started
        )
        layer.bind(facts.inputs.values)
        layer.bind(facts.constants)
        return layer

    def cancel(self, reason: str) -> None:
        """Stop everything; called from a thread of its own, never from a signal handler."""
        self.services.stop.throw(reason)

    def abandon(self) -> None:
        """Write the end of a cancelled run although a step has not stopped."""
        write_abandoned(self)

    def note_fault(self, fault: BaseException) -> None:
        """Record the exception of a plugin; shown in full only when debugging."""
        self.top.faults.append(fault)
        log_fault("engine", fault, environ=self.facts.environ, mask=self.services.masker.mask_text)


def _deny(run: Run, denial: Restricted, frame: Frame) -> Signal | None:
    from gert_core.engine.denial import deny

    return deny(run, denial, frame)


def run_variables(run_id: str, runbook: str, *, actor: str, mode: str, started: str) -> dict[str, str]:
    """Return what templates read at ``.run``."""
    return {"id": run_id, "runbook": runbook, "actor": actor, "mode": mode, "started": started}


def default_actor(environ: Mapping[str, str]) -> str:
    """Return the actor: the name in the environment, else the operating system's name of the user."""
    named = environ.get("GERT_ACTOR") or environ.get("USER") or environ.get("LOGNAME")
    return named or os_user()


def os_user() -> str:
    """Return the operating system's name of the user of this process, which no variable can change."""
    return account_name(os.getuid())


def documents_digest(digests: Mapping[str, object], policies: Policies) -> str:
    """Return the digest of everything that is drift when it changes, but for the policies, which have their own."""
    found = canonical({**digests, "policy_plugins": list(policies.plugins)})
    return f"sha256:{hashlib.sha256(found).hexdigest()}"


__all__ = ["Run", "RunFacts", "RunServices", "default_actor", "os_user", "run_variables"]
