"""Find secret outputs that only an earlier process knew: in values that are to be used, and who was given them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gert_core.engine.again import SecretNeeded
from gert_core.kit.json_reader import loads
from gert_core.secrets import MARK

if TYPE_CHECKING:
    from gert_core.trace.lines import TraceLines


class LostOutputs:
    """The secret outputs in recorded results that are not known any more, by the names in their masks."""

    __slots__ = ("_lines", "asked", "names")

    def __init__(self, lines: TraceLines) -> None:
        self._lines = lines
        self.names: set[str] = set()
        self.asked: frozenset[str] = frozenset()
        """The keys of steps that were to run again for them."""

    def refuse(self, values: object) -> None:
        """Raise ``SecretNeeded`` when data contains one, also as a part of a text."""
        if not self.names:
            return
        text = json.dumps(values, default=str, ensure_ascii=False)
        for name in sorted(self.names):
            if f"{MARK}{name}>" in text or f"{MARK}{name}:" in text:
                raise SecretNeeded(name)

    def receiver(self, name: str) -> str | None:
        """Return the key of the first step that was given it, started or finished."""
        marks = [f"{MARK}{name}{end}".encode() for end in ">:"]
        for number in range(1, len(self._lines) + 1):
            line = self._lines.line(number)
            if any(mark in line for mark in marks):
                event = loads(line)
                given = json.dumps(event["data"].get("inputs"), ensure_ascii=False).encode()
                if event.get("step_key") and any(mark in given for mark in marks):
                    return str(event["step_key"])
        return None


__all__ = ["LostOutputs"]
