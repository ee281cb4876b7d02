"""One runner process and its protocol: ``initialize`` once, ``execute`` per step, ``shutdown`` at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gert_jsonrpc import Client, PeerError, PeerFault, RpcError

from gert_core.api import ErrorKind, Principal, StepProblem
from gert_core.kit.processes import start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Deadline
    from gert_core.kit.processes import Child

PROTOCOL_VERSION: Final = "1"
SHUTDOWN_SECONDS: Final = 2.0
PREFIX: Final = "gert-ext-"
KINDS: Final = ("system", "human", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerReply:
    """A runner's answer to ``execute``."""

    outputs: Mapping[str, object]
    exit_code: int
    stderr: str
    principal: Principal | None


def program_of(extension: str) -> str:
    """Return the program that ``extension:`` names."""
    return extension if "/" in extension or extension.startswith(PREFIX) else PREFIX + extension


def _start(program: str, environ: Mapping[str, str], cwd: str | None) -> Child:
    try:
        return start([program], environ=environ, cwd=cwd)
    except StepProblem as problem:
        if problem.kind == ErrorKind.NOT_FOUND and "/" not in program:  # the core's message is about tools
            message = f"runner {program!r} was not found on PATH; install it, or give its path in `extension`"
            raise StepProblem(problem.kind, message, detail=problem.detail, acted=problem.acted) from None
        raise


class Runner:
    """A started and initialised runner; raises ``StepProblem`` when it does not answer as the protocol requires."""

    def __init__(self, program: str, environ: Mapping[str, str], deadline: Deadline, *, cwd: str | None = None) -> None:
        self._program = program
        self._client = Client(_start(program, environ, cwd))
        try:
            self._principal = self._initialize(deadline)
        except BaseException:
            self._client.close(0)
            raise

    @property
    def lost(self) -> bool:
        """Whether it has ended without an open call; a protocol error is reported by the next call."""
        failure = self._client.failure
        return failure is not None and failure.fault is not PeerFault.PROTOCOL

    def execute(
        self,
        *,
        inputs: Mapping[str, object],
        vars: Mapping[str, object],  # noqa: A002 - the protocol's word
        contract: Mapping[str, object],
        idempotency_key: str,
        deadline: Deadline,
    ) -> RunnerReply:
        """Execute one step; raise ``RpcError`` for an error answer of the runner."""
        params = {"inputs": inputs, "vars": vars, "contract": contract, "idempotency_key": idempotency_key}
        answer = self._call("execute", params, deadline)
        outputs = answer.get("outputs", {})
        exit_code = answer.get("exit_code", 0)
        stderr = answer.get("stderr", "")
        if not isinstance(outputs, dict):
            raise self._wrong("execute", '"outputs" that is not an object')
        if type(exit_code) is not int:
            raise self._wrong("execute", '"exit_code" that is not an integer')
        if not isinstance(stderr, str):
            raise self._wrong("execute", '"stderr" that is not a string')
        principal = self._principal_in("execute", answer) or self._principal
        return RunnerReply(outputs=outputs, exit_code=exit_code, stderr=stderr, principal=principal)

    def close(self) -> None:
        """Send ``shutdown``, then end the process."""
        self._client.close(SHUTDOWN_SECONDS, farewell="shutdown")

    def _initialize(self, deadline: Deadline) -> Principal | None:
        try:
            answer = self._call("initialize", {"protocol_version": PROTOCOL_VERSION}, deadline)
        except RpcError as error:
            raise StepProblem(ErrorKind.PROTOCOL, f"{self._program!r} refused to initialize: {error.message}") from None
        version = answer.get("protocol_version", PROTOCOL_VERSION)
        if version != PROTOCOL_VERSION:
            raise StepProblem(
                ErrorKind.PROTOCOL,
                f"{self._program!r} has version {version!r} of the runner protocol, gert has {PROTOCOL_VERSION!r}; "
                "install a runner made for this version",
            )
        return self._principal_in("initialize", answer)

    def _call(self, method: str, params: Mapping[str, object], deadline: Deadline) -> dict[str, object]:
        try:
            answer = self._client.call(method, params, deadline)
        except PeerError as error:
            raise error.to_problem() from None
        if not isinstance(answer, dict):
            raise self._wrong(method, "something that is not an object")
        return answer

    def _principal_in(self, method: str, answer: Mapping[str, object]) -> Principal | None:
        given = answer.get("principal")
        if given is None:
            return None
        fields = ("kind", "id", "role", "model")
        if not isinstance(given, dict) or not all(isinstance(given.get(name, ""), str) for name in fields):
            raise self._wrong(method, '"principal" that is not an object of strings')
        if given.get("kind") not in KINDS or not given.get("id"):
            raise self._wrong(method, f'"principal" without an "id" or a "kind" of {", ".join(KINDS)}')
        return Principal(**{name: given[name] for name in fields if name in given})

    def _wrong(self, method: str, what: str) -> StepProblem:
        return StepProblem(ErrorKind.PROTOCOL, f"{self._program!r} answered {method!r} with {what}")


__all__ = ["Runner", "RunnerReply", "program_of"]
