"""The errors of calls: an error answer of the peer, or a peer that cannot be used any more."""

from __future__ import annotations

from enum import StrEnum

from gert_core.api import ErrorKind, StepProblem


class RpcError(Exception):
    """An error answer of the peer, which can still be used."""

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
    """A peer that cannot be used any more: it has been ended, and every later call raises the same error.

    ``message`` names the program and the reason; ``stderr`` is the end of its standard error.
    """

    def __init__(self, fault: PeerFault, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.stderr = stderr

    def to_problem(self) -> StepProblem:
        """Return the error for a step: ``timeout``, ``cancelled``, ``protocol`` or ``crashed``."""
        kind = PeerFault.CRASHED if self.fault is PeerFault.CLOSED else self.fault
        return StepProblem(ErrorKind(kind), self.message, detail={"stderr": self.stderr})


__all__ = ["PeerError", "PeerFault", "RpcError"]
