"""What stands behind the door in a real run: tools, people, time."""

from __future__ import annotations

import itertools
import os
import time
from copy import deepcopy
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gert_core.api import Answer, NoAnswer, Principal, StepProblem, Target
from gert_core.plugin.kinds import STEP, TRANSPORT
from gert_core.plugin.lazy import resolve
from gert_core.tools import extract, render_action
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalRequest, Question, Reply, Result, Services, Transport
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.plugin.registry import Registry

DEFAULT_TOOL_TIMEOUT = 60.0


class RealBackend:
    """Everything happens. The other modes replace parts of this."""

    sequential = False
    """Whether forked blocks run one by one in the calling thread."""
    symbolic = False
    """Whether values may stay unknown."""
    enforces = True
    """Whether denials stop and approvals are asked for."""
    jumps_back = True
    """Whether backward jumps are taken."""

    def will_execute(self, execution: StepExecution) -> bool:
        """Whether the step will really be executed, so that an approval makes sense."""
        return True

    def canned(self, execution: StepExecution) -> Result | None:
        """A result that stands in for executing a leaf."""
        return None

    def seed(self, run: Run) -> str:
        """What a step's random numbers begin with; the same for a resumed run."""
        return run.run_id

    def remarks(self, run: Run) -> list[str]:
        """What the person should know when the run is over."""
        return []

    def elapsed(self, began: float) -> float:
        """Seconds since a step began."""
        return time.perf_counter() - began

    def elapsed_run(self, seconds: float) -> float:
        """The duration of the run as it is written down."""
        return seconds

    def now(self, execution: StepExecution) -> datetime:
        """The time of day."""
        return datetime.now(UTC)

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Wait, cancellable."""
        if execution.deadline.wait(seconds) and not execution.deadline.cancelled:
            raise StepProblem("timeout", "the time of the step was up while it waited")

    # -- tools ---------------------------------------------------------------------------------------------------

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, Any]) -> Reply:
        """Render the action, reach the tool over its transport, take the outputs from its reply."""
        run = execution.run
        missing = run.secrets.missing(tool.name)
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            raise StepProblem("secret_missing", f"tool `{tool.name}` requires secret {names}, which is not set")
        model = tool.tool.actions[action]
        rendered = render_action(tool, action, inputs, idempotency_key=run.idempotency_key(execution.key))
        session = run.sessions.get(f"tool:{tool.name}", lambda: self._open(execution, tool))
        timeout = model.timeout or tool.tool.meta.timeout or DEFAULT_TOOL_TIMEOUT
        run.journal.sync()
        reply: Reply = session.call(rendered, inputs, execution.deadline.within(timeout))
        try:
            outputs = extract(model, tool.contracts[action], reply)
        except StepProblem as problem:
            problem.detail = {
                "command": list(reply.command),
                "exit_code": reply.exit_code,
                "stdout": reply.stdout,
                "stderr": reply.stderr,
            }
            raise
        return replace(reply, outputs=outputs)

    def _open(self, execution: StepExecution, tool: ToolNode) -> Any:
        run, meta = execution.run, tool.tool.meta
        transport = transport_of(run.registry, meta.transport)
        if transport is None:
            wanted = f"transport `{meta.transport}`" if meta.transport else "a default transport"
            raise StepProblem(
                "transport_missing",
                f"tool `{tool.name}` needs {wanted}, which no installed plugin provides; "
                f"`gert plugins list` shows what is installed",
            )
        target = Target(
            tool=tool.name,
            binary=meta.binary,
            connect=meta.connect,
            config=deepcopy(meta.config),
            environ=run.secrets.child_environ(run.environ, tool.name),
        )
        return resolve(transport.open)(target, run.services.of(TRANSPORT, transport.name))

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Any]) -> Any:  # noqa: A002
        """A long-lived peer; what is written so far is on disk before anything outside happens."""
        run = execution.run
        missing = run.secrets.missing()
        if missing:
            names = ", ".join(f"`{secret}`" for secret in missing)
            raise StepProblem("secret_missing", f"the runbook requires secret {names}, which is not set")
        run.journal.sync()
        own = run.services.of(STEP, execution.compiled.type.name)
        services = replace(own, environ=run.secrets.child_environ(run.environ))
        return run.sessions.get(execution.session_name(name), lambda: open(services))

    # -- people --------------------------------------------------------------------------------------------------

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Ask the person at the terminal."""
        run = execution.run
        if not run.services.console.interactive:
            raise NoAnswer(f"{question.name} was asked for, but nobody can answer here")
        run.journal.sync()
        with run.services.console.exclusive():
            line = run.services.console.ask(run.masker.mask_text(question.prompt), deadline=execution.deadline)
        if line is None:
            if execution.deadline.cancelled:
                raise StepProblem("cancelled", "the run was cancelled")
            if execution.deadline.stopped:
                raise StepProblem("timeout", f"nobody answered {question.name} in time")
            raise NoAnswer(f"the input ended before {question.name} was answered")
        return Answer(value=line, principal=Principal(kind="human", id=run.actor))

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, Any]:
        """Copy a file into the run directory under a name that cannot escape it."""
        source = Path(path).expanduser()
        if not source.is_file():
            raise StepProblem("attachment", f"{path} is not a file that can be read")
        try:
            target = _copy(source, execution.run.attachments())
            with target.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise StepProblem("attachment", f"{path} cannot be copied: {error.strerror}") from None
        return {"name": target.name, "sha256": digest, "size": target.stat().st_size}

    def settle(self, execution: StepExecution, request: ApprovalRequest, recorded: Any) -> ApprovalDecision:
        """Let the approval desk bring the request to an end."""
        from gert_core.engine.steps.approval import principal_of

        run = execution.run

        def emit(type: str, data: Mapping[str, Any], principal: Mapping[str, Any] | None) -> None:  # noqa: A002
            execution.add(type, data, principal=principal_of(principal), fresh=True)

        process = run.approval_process(emit)
        return process.decide(
            request,
            deadline=execution.frame.deadline,
            submitted=recorded is not None,
            recorded=recorded.responses if recorded is not None else (),
        )


def _copy(source: Path, directory: Path) -> Path:
    """Copy a file under its own name or a numbered one; what stands there, a link too, is left alone."""
    import shutil

    for number in itertools.count(1):
        target = directory / (source.name if number == 1 else f"{source.stem}-{number}{source.suffix}")
        try:
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as kept, source.open("rb") as given:
            shutil.copyfileobj(given, kept)
        break
    return target


def transport_of(registry: Registry, name: str | None) -> Transport | None:
    """The transport a tool names, or the default one for a tool that names none."""
    if name is not None:
        return registry.transport(name)
    return next((found for found in registry.transports().values() if found.default), None)


def window(now: datetime, seconds: float) -> tuple[str, str]:
    """When a request is made and when it expires."""
    return timestamp(now), timestamp(datetime.fromtimestamp(now.timestamp() + seconds, UTC))


__all__ = ["RealBackend", "window"]
