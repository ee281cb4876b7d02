"""What a host asks the engine for: a runbook to run, or a recorded run to resume."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api.giving import Giving
from gert_core.contracts import PROBE_EFFECTS
from gert_core.engine.cancel import Stop
from gert_core.engine.progress import Progress
from gert_core.runs.state import KEPT, MODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.api import ApprovalProvider, Console, RunStore
    from gert_core.documents.project import Project
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.engine.resume.read import RecordedRun
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.secrets import Secrets
    from gert_core.trace.observers import Observer

QUESTIONS: Final = ("ask", "suspend", "fail")
DRIFT: Final = ("refuse", "allow")
"""What to do when documents changed since a run began; the first is the default."""


class Resume(Struct, frozen=True, kw_only=True):
    """A recorded run to resume, and what people decided about it."""

    run: RecordedRun
    retry_failed: bool = False
    reconcile: Mapping[str, str] = field(default_factory=dict)
    """By step key what became of a step: ``done``, ``redo`` or ``failed``."""
    outputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By step key the outputs of steps reconciled as ``done``."""
    allow_drift: bool = False
    again: tuple[str, ...] = ()
    """Keys of finished steps to be executed again, because secret outputs of theirs are needed."""
    known: Mapping[str, str] = field(default_factory=dict)
    """The secret outputs that this process knows already, by name."""
    ticket: str | None = None
    yes: bool = False
    """Whether steps that took effect are run again together with all of the step around, without asking about each."""
    abort: bool = False
    """Whether the run is only ended: no further step runs but those of open cleanup."""


class Request(Struct, frozen=True, kw_only=True):
    """What a host wants to run, and how.

    With ``resume`` the choices that the run recorded when it began hold: its runbook, policy files and sync mode, and
    its approval provider unless another one is given.
    """

    runbook: Path
    registry: Registry
    console: Console
    project: Project | None = None
    mode: str = "real"
    host_vars: Mapping[str, object] = field(default_factory=dict)
    file_vars: Mapping[str, object] = field(default_factory=dict)
    giving: Giving = Giving()
    """The words of the surface that was given ``host_vars``."""
    scenario: ScenarioModel | None = None
    policies: Sequence[Path] = ()
    floor: bool = False
    """Whether a replay keeps to the machine floor too; every other mode does in any case."""
    approval: str | None = None
    provider: ApprovalProvider | None = None
    """A provider that stands for the one named ``approval``."""
    questions: str | None = None
    """What becomes of a question of a step: ``ask`` the console (the default), ``suspend`` the run, or ``fail``."""
    actor: str | None = None
    trace: Path | None = None
    trace_sync: str = "group"
    fail_on: tuple[str, ...] | None = None
    """The categories of outcomes that a command ends with another exit code for; None: those of the project."""
    notify: tuple[Path, ...] = ()
    """Files with rules about who is told of the run, besides those of the project and the runbook."""
    probe_effects: frozenset[str] = PROBE_EFFECTS
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    progress: Progress = field(default_factory=Progress)
    stop: Stop = field(default_factory=Stop)
    leave: Stop | None = None
    """A second switch, which ``stop`` throws too: when it is thrown, what waits for people suspends the run."""
    observers: Sequence[tuple[str, Observer]] = ()
    """Functions that are given every event once readers of the trace see it, each with a name for messages."""
    cwd: Path | None = None
    """The directory in which programs start, whose ``meta.cwd`` names no other; None: that of this process."""
    remember: Mapping[str, object] = field(default_factory=dict)
    """What the host keeps in the run's ``meta.json`` for the process that ends it."""
    runs: Path | None = None
    """The directory of runs, where no ``store`` is given; None: that of the project."""
    store: RunStore | None = None
    """Where the run is kept; the host closes it."""
    alone: bool = False
    """Whether this process executes nothing else, so that a signal may be sent to it to stop the run."""
    keep: bool | None = None
    """False runs without a directory and signature: the trace goes to ``trace``, or nowhere; None: see ``kept``."""
    observed: bool = True
    """Whether the trace observers of plugins are told of the run."""
    compiled: CompiledRunbook | None = None
    """The runbook when ``check`` found it valid already, for hosts that run it many times."""
    governed: Policies | None = None
    """Its policies when they are loaded already."""
    secrets: Secrets | None = None
    """The secrets that ``runbook`` declares when they are collected from ``environ`` already."""
    resume: Resume | None = None
    preflight: bool = True
    """Whether a real run is refused when it would certainly fail for want of a secret, transport or program."""

    @property
    def kept(self) -> bool:
        """Whether the run has a directory: one that touched nothing has none, unless its trace is wanted."""
        return self.keep if self.keep is not None else self.mode in KEPT or self.trace is not None


__all__ = ["DRIFT", "MODES", "PROBE_EFFECTS", "QUESTIONS", "Request", "Resume"]
