"""The session of the transport ``stdio``: run the action's command, return its output and exit code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, Reply, StepProblem
from gert_core.kit.excerpts import last_line
from gert_core.kit.processes import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Action, Deadline, Services, Target


class StdioSession:
    """A session without open resources, so that several threads may call it at once."""

    __slots__ = ("_target",)

    def __init__(self, target: Target, services: Services) -> None:
        self._target = target

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Run the command; a non-zero exit is the tool's own failure, not an error."""
        target = self._target
        command = (target.binary, *action.argv[1:]) if target.binary else action.argv
        if not command:
            message = f"action {action.name!r} of tool {target.tool!r} has no argv; the stdio transport needs one"
            raise StepProblem(ErrorKind.SPAWN, message, retryable=False)
        environ = {**target.environ, "GERT_IDEMPOTENCY_KEY": action.idempotency_key, **action.env}
        stdin = action.stdin.encode("utf-8", "surrogateescape") if action.stdin else b""
        try:
            result = call(
                command, environ=environ, stdin=stdin, deadline=deadline, cwd=target.cwd, output=action.output
            )
        except StepProblem as problem:
            problem.detail.setdefault("command", list(command))
            raise
        code = result.exit_code
        return Reply(
            exit_code=code,
            stdout=result.stdout,
            stderr=result.stderr,
            command=command,
            failed=code != 0,
            in_time=True,
            message=_sentence(command[0], code, result.stderr) if code else "",
        )

    def close(self) -> None:
        """Do nothing: no process outlives its call."""


def _sentence(program: str, code: int, stderr: str) -> str:
    text = f"{program} exited with code {code}"
    if code > 128:
        import signal

        with suppress(ValueError):
            text += f" ({signal.Signals(code - 128).name})"
    last = last_line(stderr)
    return f"{text}: {last}" if last else text


__all__ = ["StdioSession"]
