"""A transport for tests of other plugins: it answers with its arguments and starts no process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core import hookimpl
from gert_core.api import ErrorKind, Reply, StepProblem, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Action, Deadline, Services, Target


class EchoSession:
    """A session whose output is ``stdin`` or the arguments after the first.

    The action's environment says more: ``EXIT`` is the exit code, ``WAIT`` the seconds before the answer.
    """

    def __init__(self, target: Target) -> None:
        self._program = target.binary or target.tool

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Answer, at once or after a wait; raise ``StepProblem`` when the wait is stopped."""
        if deadline.wait(float(action.env.get("WAIT") or 0)):
            kind = ErrorKind.CANCELLED if deadline.cancelled else ErrorKind.TIMEOUT
            raise StepProblem(kind, "the answer took too long")
        code = int(action.env.get("EXIT") or 0)
        text = action.stdin if action.stdin is not None else " ".join(action.argv[1:])
        return Reply(exit_code=code, stdout=text + "\n", command=(self._program, *action.argv[1:]), failed=code != 0)

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def open_session(target: Target, services: Services) -> EchoSession:
    """Open a session on the target."""
    return EchoSession(target)


@hookimpl
def gert_transports() -> list[Transport]:
    """Register ``echo``."""
    return [Transport(name="echo", open=open_session, summary="Answers with its arguments.")]


__all__ = ["gert_transports"]
