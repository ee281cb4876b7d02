"""The steps that a run visited, and the names by which a test may refer to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import StepStatus
from gert_core.scenarios.names import matches, step_id_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTERED: Final = "entered"
PENDING: Final = "approval_pending"
UNANSWERED: Final = "answer_pending"
_REACHED: Final = frozenset({*map(str, (StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.ERROR)), ENTERED})


class Visit(Struct, kw_only=True):
    """One step key of a run; ``index`` is the position of an item of a loop, ``loop`` the step around its items."""

    key: str
    step_id: str
    status: str = ENTERED
    index: int | None = None
    loop: bool = False

    @property
    def reached(self) -> bool:
        """Whether the step was executed; a loop is reached by its items."""
        return not self.loop and self.status in _REACHED


class Visits:
    """The visits of one run in the order in which they began."""

    __slots__ = ("_visits",)

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def note(
        self, key: str, step_id: str, *, loop: bool = False, item: int | None = None, status: str | None = None
    ) -> None:
        """Add a visit, or set the status of an existing one."""
        visit = self._visits.get(key)
        if visit is None:
            visit = self._visits[key] = Visit(key=key, step_id=step_id, loop=loop, index=item)
        if status is not None:
            visit.status = status

    def __iter__(self) -> Iterator[Visit]:
        return iter(self._visits.values())

    def reached(self, name: str) -> bool:
        """Return whether a step was executed under a name."""
        return any(visit.reached for visit in self._called(name))

    def status_of(self, name: str) -> str | None:
        """Return the last status under a name; None when the run did not visit it."""
        found = None
        for visit in self._called(name):
            found = visit.status
        return found

    def _called(self, name: str) -> Iterator[Visit]:
        """Yield the visits that a name means; a loop is meant by its items."""
        step_id = step_id_of(name)
        for visit in self:
            if visit.step_id == step_id and not visit.loop and matches(name, visit.key, self._position):
                yield visit

    def _position(self, key: str) -> int | None:
        visit = self._visits.get(key)
        return visit.index if visit is not None else None

    def names(self) -> Iterator[str]:
        """Yield a name for every step that was executed; items whose keys are numbers are named by their places."""
        for visit in self:
            if visit.reached:
                yield self._name(visit.key)

    def _name(self, key: str) -> str:
        if "[" not in key:
            return key
        found, rest = "", key
        while rest:
            part, bracket, behind = rest.partition("[")
            found += part
            if not bracket:
                break
            label, _, rest = behind.partition("]")
            place = self._position(key[: len(key) - len(rest)])
            found += f"[{place}]" if label.isdecimal() and place is not None else f"[{label}]"
        return found

    def path(self) -> tuple[tuple[str, str], ...]:
        """Return step keys with their statuses."""
        return tuple((visit.key, visit.status) for visit in self)


__all__ = ["ENTERED", "PENDING", "UNANSWERED", "Visit", "Visits"]
