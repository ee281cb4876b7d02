"""Find where the keys and values of a document end, for editors; read from its text when the first end is asked for.

The composer keeps only where things begin, because everything else that reads documents needs no more.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from gert_core.documents.compose import parser
from gert_core.documents.yaml_errors import BREAKS

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = tuple[int, int]
"""Line and column from 1."""

_BLOCK: Final = ("|", ">")
_HEADS: Final = (StreamStartEvent, DocumentStartEvent)


class Ends:
    """Where the keys and values of a text end, by where they begin; a value and its first key may begin together."""

    __slots__ = ("keys", "values")

    def __init__(self, text: str) -> None:
        self.keys: dict[Place, Place] = {}
        self.values: dict[Place, Place] = {}
        with suppress(YAMLError):  # what is behind an error has no value either
            self._read(text)

    def _read(self, text: str) -> None:
        lines = re.split(BREAKS, text)
        source: Any = parser(text.encode())
        next_event, open_ = source.get_event, list[_Open]()
        while (kind := type(event := next_event())) is not StreamEndEvent:  # once per word of the document
            if kind is ScalarEvent or kind is AliasEvent:
                start, end = _place(event.start_mark), _place(event.end_mark)
                if kind is ScalarEvent and event.style in _BLOCK:
                    end = _text_end(lines, start, end)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                start = _place(event.start_mark)
                open_.append(_Open(start, mapping=kind is MappingStartEvent, flow=bool(event.flow_style)))
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = open_.pop()
                start, end = closed.start, _place(event.end_mark) if closed.flow else closed.last
            elif kind in _HEADS:
                continue
            else:
                break  # the end of the document
            self._add(open_[-1] if open_ else None, start, end)

    def of(self, start: Place, *, key: bool) -> Place:
        """Return the end of what begins at a place: of the key or of the value; the place itself when nothing does."""
        return (self.keys if key else self.values).get(start, start)

    def _add(self, around: _Open | None, start: Place, end: Place) -> None:
        is_key = around is not None and around.mapping and around.count % 2 == 0
        (self.keys if is_key else self.values).setdefault(start, end)
        if around is not None:
            around.count += 1
            around.last = max(around.last, end)


class _Open:
    """A list or map whose end was not read yet."""

    __slots__ = ("count", "flow", "last", "mapping", "start")

    def __init__(self, start: Place, *, mapping: bool, flow: bool) -> None:
        self.start = self.last = start
        self.mapping = mapping
        self.flow = flow
        self.count = 0


def _place(mark: Any) -> Place:
    return mark.line + 1, mark.column + 1


def _text_end(lines: Sequence[str], start: Place, end: Place) -> Place:
    """Return the end of a block of text: behind its last line that has one, which the parser has read beyond."""
    number = min(end[0] - (end[1] == 1), len(lines))
    while number > start[0] and not lines[number - 1].strip():
        number -= 1
    return number, len(lines[number - 1].rstrip()) + 1


__all__ = ["Ends", "Place"]
