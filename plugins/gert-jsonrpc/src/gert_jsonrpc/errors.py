"""The two ways a call goes wrong: the peer says no, or the peer cannot be talked to any more."""

from __future__ import annotations

from enum import StrEnum

from gert_core.api import ErrorKind, StepProblem


class RpcError(Exception):
    """The peer answered with an error; it goes on working."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class PeerFault(StrEnum):
    """Why a peer cannot be used any more."""

    CRASHED = str(ErrorKind.CRASHED)
    PROTOCOL = str(ErrorKind.PROTOCOL)
    TIMEOUT = str(ErrorKind.TIMEOUT)
    CANCELLED = str(ErrorKind.CANCELLED)
    CLOSED = str(ErrorKind.CLOSED)


class PeerError(Exception):
    """The peer is lost: it has been ended, and every later call says the same. Start a new one.

    ``message`` names the program and what was wrong; ``stderr`` is the end of what it wrote there.
    """

    def __init__(self, fault: PeerFault, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.stderr = stderr

    def to_problem(self) -> StepProblem:
        """Return the same for a step: ``timeout``, ``cancelled``, ``protocol`` or ``crashed``."""
        kind = PeerFault.CRASHED if self.fault is PeerFault.CLOSED else self.fault
        return StepProblem(ErrorKind(kind), self.message, detail={"stderr": self.stderr})


__all__ = ["PeerError", "PeerFault", "RpcError"]
