"""What a host is told while a run is executed: notices, numbered from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTICES: tuple[str, ...] = (
    "event",
    "command",
    "output",
    "loop",
    "question",
    "answered",
    "approval",
    "warning",
    "arm",
    "end",
)
"""The kinds of notices; facts are events of the trace, the rest is what the trace does not have."""


class Notice(Struct, frozen=True, kw_only=True):
    """One thing that happened in a run, masked.

    ``kind`` says what ``data`` has: ``event`` the line of the trace; ``command`` tool, action and command; ``output``
    stream, text, whether it is partial, and how many characters were dropped before it; ``loop`` how many items are
    done, failed and skipped of the total; ``question`` what a person is asked, and ``answered`` by whom; ``approval``
    the request and what happened since the last one; ``warning`` a message; ``arm`` the arm of an undecided step;
    ``end`` the ``result`` of the run, or an ``error``. ``end`` is the last one, and comes once.
    """

    number: int
    time: str
    run_id: str
    kind: str
    step_key: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return it as an object, without ``step_key`` where it has none."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.step_key is None:
            del shown["step_key"]
        return shown


__all__ = ["NOTICES", "Notice"]
