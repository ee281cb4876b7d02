"""What blocks a run until somebody unblocks it: pauses that its steps request, and blocks by operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from gert_core.api.events import TraceEvent
    from gert_core.runs.state import RunState

BLOCK: Final = "block"
UNBLOCK: Final = "unblock"
"""The reasons of a ``run_resumed`` that only blocks or unblocks the run: nothing is executed."""
LONGEST: Final = 200
"""The most characters of a key that unblocks a run."""


class Hold(Struct, frozen=True, kw_only=True):
    """One reason why a run is blocked; ``key`` unblocks it."""

    key: str
    step_key: str | None = None
    """The step that requested the pause; ``None``: an operator blocked the run."""
    reason: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    since: str | None = None
    seq: int = 0

    def to_json(self) -> dict[str, object]:
        """Return it as results and ``gert runs show --json`` list it."""
        return {
            "unblock_key": self.key,
            "step_key": self.step_key,
            "reason": self.reason,
            "metadata": self.metadata,
            "since": self.since,
        }


def key_fault(key: object) -> str | None:
    """Return what is wrong with a key that is to unblock a run; None when it can be given on a command line."""
    if not isinstance(key, str) or not key.strip() or key != key.strip() or not key.isprintable():
        return "is not a word or a line of text"
    return f"has more than {LONGEST} characters" if len(key) > LONGEST else None


def pause(state: RunState, event: TraceEvent) -> None:
    """Take a ``pause_requested``."""
    data = event.data
    state.holds.append(
        Hold(
            key=str(data["unblock_key"]),
            step_key=event.step_key,
            reason=str(data.get("reason") or ""),
            metadata=dict(data.get("metadata") or {}),
            since=event.timestamp,
            seq=event.seq,
        )
    )


def resume(state: RunState, event: TraceEvent) -> bool:
    """Take a ``run_resumed`` that blocks or unblocks the run; return whether it is one."""
    data, key = event.data, str(event.data.get("unblock_key"))
    if data.get("reason") == BLOCK:
        reason = str(data.get("message") or "")
        state.holds.append(Hold(key=key, reason=reason, since=event.timestamp, seq=event.seq))
    elif data.get("reason") == UNBLOCK:
        for hold in state.holds:
            if hold.key == key and hold.step_key is not None:
                released = state.released.setdefault(hold.step_key, {})
                released[key] = released.get(key, 0) + 1
        state.holds = [hold for hold in state.holds if hold.key != key]
    else:
        return False
    return True


def suspend(state: RunState, event: TraceEvent) -> None:
    """Take a ``run_suspended`` whose run was blocked while it was executed."""
    block = event.data.get("block")
    if isinstance(block, dict):
        reason = str(block.get("message") or "")
        state.holds.append(Hold(key=str(block.get("key")), reason=reason, since=event.timestamp, seq=event.seq))


def forget(state: RunState, step_key: str) -> None:
    """Drop the pauses of an execution of a step that is over, or begins anew."""
    state.released.pop(step_key, None)
    if any(hold.step_key == step_key for hold in state.holds):
        state.holds = [hold for hold in state.holds if hold.step_key != step_key]


__all__ = ["BLOCK", "UNBLOCK", "Hold", "forget", "key_fault", "pause", "resume", "suspend"]
