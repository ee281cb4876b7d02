"""What ``gert doctor`` looks at: one record per check."""

from __future__ import annotations

from msgspec import Struct


class Checked(Struct, frozen=True, kw_only=True):
    """The result of one check; ``status`` is ``ok``, ``warn`` or ``fail``, ``hint`` what to do about it."""

    check: str
    status: str
    message: str
    hint: str = ""

    def to_json(self) -> dict[str, str]:
        """Return one entry of ``checks`` in ``gert doctor --json``."""
        return {"check": self.check, "status": self.status, "message": self.message, "hint": self.hint}


def ok(check: str, message: str) -> Checked:
    """Return the result of a check that found nothing wrong."""
    return Checked(check=check, status="ok", message=message)


def warn(check: str, message: str, hint: str) -> Checked:
    """Return the result of a check that found something to look at."""
    return Checked(check=check, status="warn", message=message, hint=hint)


def fail(check: str, message: str, hint: str) -> Checked:
    """Return the result of a check that found something with which runs fail or cannot be trusted."""
    return Checked(check=check, status="fail", message=message, hint=hint)


__all__ = ["Checked", "fail", "ok", "warn"]
