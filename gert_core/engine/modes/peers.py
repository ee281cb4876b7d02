"""Open transports and approval providers; what they raise or give that is unusable names their plugin."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import astuple

from gert_core.api import ErrorKind, GertError, Reply, StepProblem, Target
from gert_core.engine.signals import Unwind
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.functions import Unusable, a_kind_of, plugin_fault
from gert_core.plugin.kinds import APPROVAL, TRANSPORT
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import here, inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import (
        Action,
        ApprovalProvider,
        ApprovalRequest,
        ApprovalResponse,
        ApprovalTicket,
        Deadline,
        Transport,
    )
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.plugin.kinds import RecordKind
    from gert_core.plugin.registry import Registry


class _Peer:
    """A session that a plugin opened; ``error`` is the kind of the error of a step whose call of it fails."""

    def __init__(self, run: Run, kind: RecordKind, name: str, *, error: str | None = None) -> None:
        self._run = run
        self._kind = kind
        self._name = name
        self._error = error
        self._session: Any = None

    def open(self, functions: tuple[str, ...], open: Callable[[], object]) -> None:  # noqa: A002 - it opens
        """Open the session; raise ``StepProblem`` when that fails or it lacks one of the functions."""
        session = self._call("open", open)
        for name in functions:
            if not callable(getattr(session, name, None)):
                raise self._problem("open", Unusable(f"it gave {a_kind_of(session)}, which has no `{name}`"))
        self._session = session

    def close(self) -> None:
        """Close the session; the caller ignores what it raises."""
        self._session.close()

    def _call(self, function: str, call: Callable[[], object]) -> Any:
        try:
            with inside():
                return call()
        except (StepProblem, Unwind):
            raise
        except BaseException as error:  # a plugin may raise anything, and exit
            pass_on(error)
            raise self._fault(function, error) from error

    def _fault(self, function: str, error: BaseException) -> StepProblem:
        self._run.note_fault(error)
        return self._problem(function, error)

    def _problem(self, function: str, error: BaseException) -> StepProblem:
        plugins = self._run.facts.registry.providers(self._kind, self._name)
        fault = plugin_fault(plugins, f"`{function}` of {self._kind.label} {self._name!r}", error)
        kind = self._error or (error.kind if isinstance(error, GertError) else fault.kind)
        hint = f"; {error.hint}" if isinstance(error, GertError) and error.hint else ""
        return StepProblem(kind, f"{fault.message}{hint}")


class ToolSession(_Peer):
    """A session of a transport, whose replies are checked."""

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Call one action."""
        before, here.inside = here.inside, True  # by hand, for every call: ``_call`` takes five times as long
        try:
            reply = self._session.call(action, inputs, deadline)
        except (StepProblem, Unwind):
            raise
        except BaseException as error:
            pass_on(error)
            raise self._fault("call", error) from error
        finally:
            here.inside = before
        fault = _faulty(reply)
        if fault is not None:
            raise self._problem("call", Unusable(fault))
        return reply  # type: ignore[no-any-return]


class ProviderSession(_Peer):
    """A session of an approval provider; its tickets and answers are checked where they are used."""

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Submit a request."""
        return self._call("submit", lambda: self._session.submit(request))  # type: ignore[no-any-return]

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return one response, or None."""
        return self._call("wait", lambda: self._session.wait(ticket, deadline))  # type: ignore[no-any-return]


def open_transport(execution: StepExecution, tool: ToolNode) -> ToolSession:
    """Open the session of a tool's transport; raise ``StepProblem`` when no plugin provides the transport."""
    facts, services, meta = execution.facts, execution.services, tool.tool.meta
    transport = find_transport(facts.registry, meta.transport)
    if transport is None:
        wanted = f"transport `{meta.transport}`" if meta.transport else "a default transport"
        raise StepProblem(
            ErrorKind.TRANSPORT_MISSING,
            f"tool `{tool.name}` needs {wanted}, which no installed plugin provides; "
            f"`gert plugins list` shows what is installed",
        )
    target = Target(
        tool=tool.name,
        binary=meta.binary,
        connect=meta.connect,
        config=deepcopy(meta.config),
        environ=facts.secrets.child_environ(facts.environ, tool.name),
        cwd=tool.cwd or facts.cwd,
    )
    lent = services.plugins.of(TRANSPORT, transport.name)
    session = ToolSession(execution.run, TRANSPORT, transport.name)
    session.open(("call", "close"), lambda: load_target(transport.open)(target, lent))
    return session


def open_provider(execution: StepExecution, provider: ApprovalProvider) -> ProviderSession:
    """Open an approval provider; raise ``StepProblem`` when it cannot be opened."""
    lent = execution.services.plugins.of(APPROVAL, provider.name)
    session = ProviderSession(execution.run, APPROVAL, provider.name, error=ErrorKind.APPROVAL_PROVIDER)
    session.open(("submit", "wait"), lambda: load_target(provider.open)(lent))
    return session


def find_transport(registry: Registry, name: str | None) -> Transport | None:
    """Return the transport a tool names, or the default one for a tool that names none."""
    if name is not None:
        return registry.transport(name)
    return next((found for found in registry.transports().values() if found.default), None)


_WORD: Final = {str}
_USUAL: Final = tuple(map(type, astuple(Reply(exit_code=0))))
"""The types of the fields of a reply of a program."""


def _faulty(reply: object) -> str | None:
    """Return what is wrong with a reply."""
    if (
        type(reply) is Reply
        and tuple(map(type, astuple(reply))) == _USUAL
        and _WORD.issuperset(map(type, reply.command))
    ):
        return None  # nearly every reply; what follows takes five times as long
    if not isinstance(reply, Reply):
        return f"it gave {a_kind_of(reply)} instead of a Reply"
    if reply.exit_code is not None and type(reply.exit_code) is not int:
        return f"the exit_code of its Reply is {a_kind_of(reply.exit_code)}, not an integer"
    for name in ("stdout", "stderr", "message"):
        if not isinstance(getattr(reply, name), str):
            return f"the {name} of its Reply is {a_kind_of(getattr(reply, name))}, not a string"
    if reply.outputs is not None and not isinstance(reply.outputs, Mapping):
        return f"the outputs of its Reply are {a_kind_of(reply.outputs)}, not a map"
    if not isinstance(reply.command, (tuple, list)) or not all(isinstance(word, str) for word in reply.command):
        return "the command of its Reply is not a tuple of strings"
    return None


__all__ = ["ProviderSession", "ToolSession", "find_transport", "open_provider", "open_transport"]
