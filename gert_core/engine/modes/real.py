"""The backend of real runs: call tools, ask people, keep files, wait."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import ErrorKind, RunError, StepProblem, StoreError
from gert_core.engine.modes.deciding import decide_by_provider
from gert_core.engine.modes.peers import open_transport
from gert_core.engine.modes.questions import ask_person
from gert_core.engine.sessions import served_alone
from gert_core.engine.steps.claims import go_on
from gert_core.engine.steps.keeping import shown_name
from gert_core.engine.steps.replies import read_reply, withhold
from gert_core.engine.steps.secret_outputs import learn_outputs
from gert_core.engine.steps.spool import CallSpool
from gert_core.engine.steps.watching import watched
from gert_core.kit.spooling import spooled
from gert_core.plugin.kinds import STEP
from gert_core.runs.attachments import ATTACHMENTS, SecretInFileError, file_parts, keep
from gert_core.tools import assessed, call_inputs, render_action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from gert_core.api import Action, Answer, ApprovalRequest, Question, Reply, Result, Services
    from gert_core.api.context import Peer
    from gert_core.api.stores import StoredRun
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.modes.peers import ToolSession
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker

DEFAULT_TOOL_TIMEOUT: Final = 60.0


class RealBackend:
    """The real mode: every step is executed."""

    sequential = False
    symbolic = False
    enforces = True
    acts = True
    jumps_back = True
    repeats = True

    def seed(self, run: Run) -> str:
        """Return the run id: a resumed run gets the same numbers."""
        return run.facts.run_id

    def remarks(self, run: Run) -> list[str]:
        """Return nothing: a real run has no scenario to warn about."""
        return []

    def run_seconds(self, seconds: float) -> float:
        """Return the seconds as they are."""
        return seconds

    def will_execute(self, execution: StepExecution) -> bool:
        """Return True."""
        return True

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return nothing: the step is executed."""
        return None

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Request a decision from the run's approval provider."""
        return decide_by_provider(execution, request, recorded)

    def step_seconds(self, began: float) -> float:
        """Return the seconds that have passed."""
        return time.perf_counter() - began

    def now(self, execution: StepExecution) -> datetime:
        """Return the time of day."""
        return execution.services.stop.time.now()

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Wait, cancellable."""
        wait(execution, seconds)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Call the tool over its transport."""
        return call_tool(execution, tool, action, inputs)

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Return the peer, opened on first use."""
        return open_session(execution, name, open)

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Ask the person at the terminal."""
        return ask_person(execution, question)

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, object]:
        """Copy the file into the run directory."""
        return attach_file(execution, path)


# -- what real runs and probes do ----------------------------------------------------------------------------------


def wait(execution: StepExecution, seconds: float) -> None:
    """Wait, cancellable; raise ``StepProblem`` when the step's deadline passes before."""
    if execution.deadline.wait(seconds) and not execution.deadline.cancelled:
        raise StepProblem(ErrorKind.TIMEOUT, "the deadline of the step passed while it waited")


def call_tool(execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
    """Render the action, call the tool over its transport, and return the reply with its outputs extracted."""
    model = tool.tool.actions[action]
    try:
        session, rendered, inputs = _prepare_call(execution, tool, action, inputs)
    except StepProblem as problem:
        problem.acted = False
        raise
    timeout = model.timeout or tool.tool.meta.timeout
    if timeout is None and execution.compiled.timeout is None:
        timeout = DEFAULT_TOOL_TIMEOUT
    if execution.services.recorded is not None:
        go_on(execution, "resumed")
    execution.services.journal.sync()
    # What an action with secret outputs writes cannot be masked before it has ended.
    secret = tool.contracts[action].secret_outputs
    watcher = None
    if execution.services.progress.watches:
        rendered, watcher = watched(execution, tool, rendered, hidden=bool(secret))
    try:
        with spooled(None if secret or execution.facts.stored is None else CallSpool(execution)):
            reply = assessed(model, session.call(rendered, inputs, execution.deadline.within(timeout)))
    except StepProblem as problem:
        execution.acted = execution.acted or problem.acted
        if secret:
            withhold(problem, tool, action)
        raise
    finally:
        if watcher is not None:
            watcher.close()
    execution.acted = True
    execution.read_late = reply.in_time and execution.deadline.expired
    reply = read_reply(tool, action, reply, secret=secret)
    if secret:
        learn_outputs(execution, secret, reply.outputs or {})
    return reply


def _prepare_call(
    execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]
) -> tuple[ToolSession, Action, Mapping[str, object]]:
    """Return the session of the tool, the rendered action and its inputs; nothing was done when this raises."""
    facts, sessions = execution.facts, execution.services.sessions
    missing = facts.secrets.missing(tool.name)
    if missing:
        raise StepProblem(ErrorKind.SECRET_MISSING, facts.secrets.refusal(missing, tool.name))
    key = (execution.calls <= 1 and execution.idempotency_key) or facts.idempotency_key(execution.key, execution.calls)
    inputs = call_inputs(tool.contracts[action], inputs, idempotency_key=key)
    rendered = render_action(tool, action, inputs, idempotency_key=key)
    name = f"tool:{facts.document}:{tool.name}"
    step = served_alone(execution)
    if step is not None:
        from gert_core.engine.steps.called_tools import check_called  # runs without approvals do not need it

        asked = rendered
        check_called(execution, tool, asked)
        rendered = replace(asked, confirm=lambda: check_called(execution, tool, asked))
    elif (found := sessions.find(name)) is not None:
        return found, rendered, inputs  # type: ignore[return-value]  # what has this name is a session of a tool
    return sessions.get(name, lambda: open_transport(execution, tool), step=step), rendered, inputs


def open_session(execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
    """Return a long-lived peer; the events so far are synced to disk before anything happens outside the run."""
    facts, services = execution.facts, execution.services
    missing = facts.secrets.missing()
    if missing:
        raise StepProblem(ErrorKind.SECRET_MISSING, facts.secrets.refusal(missing))
    if services.recorded is not None:
        go_on(execution, "resumed")
    services.journal.sync()
    execution.acted = True
    own = services.plugins.of(STEP, execution.compiled.type.name)
    lent = replace(own, environ=facts.secrets.child_environ(facts.environ))

    step = served_alone(execution)
    if step is not None:
        from gert_core.engine.steps.called_tools import check_runner

        check_runner(execution, facts.runbook.functions.program(execution.compiled.node, execution.step))
    return services.sessions.get(execution.session_name(name), lambda: open(lent), step=step)


def attach_file(execution: StepExecution, path: str) -> Mapping[str, object]:
    """Copy a file into the run directory under a safe name, on disk before the trace tells of it; return its facts."""
    source = Path(path).expanduser()
    stored = execution.facts.stored
    if stored is None:
        raise StepProblem(ErrorKind.ATTACHMENT, "this run has no directory for attachments")
    try:
        return _copy(source, stored, execution.services.masker)
    except FileNotFoundError:
        raise StepProblem(ErrorKind.ATTACHMENT, f"{path} does not exist") from None
    except SecretInFileError as error:
        from gert_core.engine.resume.answers import forget_upload

        if forget_upload(stored, source):  # the person who gave it need not know all secrets
            execution.services.progress.warn(error.message)
        raise StepProblem(ErrorKind.ATTACHMENT, error.message) from None
    except StoreError as error:
        raise StepProblem(ErrorKind.ATTACHMENT, f"{path} cannot be copied: {error.strerror}") from None
    except RunError as error:  # the file is not one to keep, or the run's directory has something else in its place
        raise StepProblem(ErrorKind.ATTACHMENT, error.message) from None
    except OSError as error:
        raise StepProblem(ErrorKind.ATTACHMENT, f"{path} cannot be copied: {error.strerror}") from None


def _copy(source: Path, stored: StoredRun, masker: Masker) -> dict[str, object]:
    """Copy a file; return name, hash and size of what was written."""
    digest, size = sha256(), 0

    def parts() -> Iterator[bytes]:
        nonlocal digest, size
        digest, size = sha256(), 0
        for block in file_parts(source, masker):
            yield block
            digest.update(block)
            size += len(block)

    name = keep(stored, ATTACHMENTS, shown_name(source, masker), parts)
    return {"name": name, "sha256": digest.hexdigest(), "size": size}


__all__ = [
    "RealBackend",
    "attach_file",
    "call_tool",
    "open_session",
    "wait",
]
