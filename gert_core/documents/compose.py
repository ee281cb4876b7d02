"""Build values with positions from YAML events, in one pass and without recursion in C.

libyaml's own composer recurses in C and crashes on deep nesting, so values are built here from its events. That is
also faster (no node objects), and limits the depth, the number of values and the expansion of aliases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from gert_core.documents.scalars import scalar_value

if TYPE_CHECKING:
    from collections.abc import Callable

Mark = tuple[int, int, int, int]
"""Line and column of the key, then of the value, from 1; for an item of a list both are the value's."""

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 500_000
MAX_EXPANSION: Final = 4 * 1024 * 1024
MAX_DIAGNOSTICS: Final = 100
EMPTY: Final = "the file is empty"
SEVERAL: Final = "the file holds several YAML documents"
HALF: Final = "an escape is half of a character"
WHOLE: Final = "write the character itself, or as one escape such as \\U0001f600"
BARE_TEMPLATE: Final = 'a template that begins a value must be quoted: "{{ ... }}"'
_QUOTE_HINT: Final = "put the text in quotes"


class Map(dict[str, Any]):
    """A mapping with the position of each of its keys and values."""

    __slots__ = ("marks",)
    marks: dict[str, Mark]


class Seq(list[Any]):
    """A list with the position of each of its items."""

    __slots__ = ("marks",)
    marks: list[Mark]


class UnreadableDocumentError(Exception):
    """A document that cannot be read any further; positions start at 1."""

    def __init__(self, message: str, *, line: int, column: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def parser(data: bytes) -> object:
    """Return libyaml's parser, or the pure-Python one where PyYAML was built without libyaml."""
    if yaml.__with_libyaml__:
        return yaml.cyaml.CParser(data)  # type: ignore[attr-defined, unused-ignore] # stubs differ about it
    return _pure_parser(data)


def _pure_parser(data: bytes) -> object:
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PureParser(Reader, Scanner, Parser):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PureParser(data.decode("utf-8").removeprefix("\ufeff"))


class Composer:
    """Builder of one document's value.

    Errors that do not stop the reading go to ``report(rule, message, line, column, hint)``.
    """

    def __init__(self, source: Any, report: Callable[[str, str, int, int, str | None], None]) -> None:
        self._next: Callable[[], Any] = source.get_event
        self._report = report
        self._anchors: dict[str, tuple[object, int, int] | None] = {}
        self._values = 0
        self._text = 0
        self._expanded = 0
        self._depth = 0
        self._deepest = 0
        self.start = (1, 1)

    def document(self) -> object:
        """Return the value of the only document; raise ``UnreadableError`` when there is none or a second one."""
        self._next()  # stream start
        if type(self._next()) is StreamEndEvent:
            raise UnreadableDocumentError(EMPTY, line=1, column=1, hint="write the document, or remove the file")
        event = self._next()
        mark = event.start_mark
        self.start = (mark.line + 1, mark.column + 1)
        value = self._value(event)
        self._next()  # document end
        event = self._next()
        if type(event) is not StreamEndEvent:
            raise _refused(event, SEVERAL, "keep one document per file; remove the `---`")
        return value

    def _value(self, event: Any) -> Any:
        """Return any value, with tag and anchor; the loops below handle common scalars themselves."""
        kind = type(event)
        if kind is AliasEvent:
            return self._alias(event)
        tag, anchor = event.tag, event.anchor
        if tag is not None:
            self._report_syntax(
                event,
                f"the tag {_in_backticks(tag)} is not allowed",
                "remove the tag, or quote the string if it begins with `!`",
            )
        if anchor is None:
            return self._content(event, kind)
        values, text, deepest = self._values, self._text, self._deepest
        self._anchors[anchor] = None
        self._deepest = self._depth
        value = self._content(event, kind)
        weight = self._values - values + self._text - text
        self._anchors[anchor] = (value, weight, self._deepest - self._depth)
        self._deepest = max(deepest, self._deepest)
        return value

    def _content(self, event: object, kind: type) -> Any:
        if kind is ScalarEvent:
            return self._scalar(event)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _refused(event, f"the document is nested deeper than {MAX_DEPTH} levels", "flatten it")
        self._deepest = max(self._deepest, self._depth)
        value = self._map() if kind is MappingStartEvent else self._seq()
        self._depth -= 1
        return value

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        self._values += 1
        self._text += len(text)
        if not event.style:
            # `! 12` carries the non-specific tag: text, and only the implicit flags tell.
            return scalar_value(text) if event.implicit[0] or event.tag else text
        if event.style == '"' and not _encodable(text):
            self._report_syntax(event, HALF, WHOLE)
        elif event.style == '"' and "\0" in text:
            self._report_syntax(
                event, "the string contains a character that documents must not contain", "remove the escape"
            )
        return text

    def _map(self) -> Map:
        out = Map()
        marks: dict[str, Mark] = {}
        out.marks = marks
        take = self._next
        while True:
            event = take()
            kind = type(event)
            if kind is MappingEndEvent:
                break
            mark = event.start_mark
            line, column = mark.line + 1, mark.column + 1
            if kind is ScalarEvent and event.anchor is None and event.tag is None:
                key = event.value
                if not event.style:
                    key = scalar_value(key)
            else:
                key = self._value(event)
            if type(key) is not str:
                key = self._invalid_key(event, key)
            event = take()
            mark = event.start_mark
            if type(event) is ScalarEvent and event.anchor is None and event.tag is None:
                value = event.value
                self._text += len(value)
                style = event.style
                if not style:
                    value = scalar_value(value)
                elif style == '"':
                    value = self._scalar(event)
            else:
                value = self._value(event)
            if key in marks:
                first = marks[key]
                self._report(
                    "duplicate-key",
                    f"the key {_in_backticks(key)} is already given in line {first[0]}",
                    line,
                    column,
                    "remove or rename one of the two",
                )
            elif key is not None:
                marks[key] = (line, column, mark.line + 1, mark.column + 1)
                out[key] = value
            self._values += 2
            if self._values > MAX_VALUES:
                raise _refused(event, f"the document holds more than {MAX_VALUES:,} values", "split it")
        return out

    def _seq(self) -> Seq:
        out = Seq()
        marks: list[Mark] = []
        out.marks = marks
        take = self._next
        while True:
            event = take()
            if type(event) is SequenceEndEvent:
                break
            mark = event.start_mark
            line, column = mark.line + 1, mark.column + 1
            marks.append((line, column, line, column))
            out.append(self._value(event))
            self._values += 1
            if self._values > MAX_VALUES:
                raise _refused(event, f"the document holds more than {MAX_VALUES:,} values", "split it")
        return out

    def _invalid_key(self, event: object, key: object) -> str | None:
        """Report a key that is not a string; return the source text of a scalar, None for a collection."""
        if isinstance(key, (Map, Seq)):
            hint = BARE_TEMPLATE if _braces(key) else "use a string as the key"
            self._report_syntax(event, "a key must be a string, not a map or a list", hint)
            return None
        text = event.value if type(event) is ScalarEvent else str(key)
        what = "empty" if text == "" else f"{_in_backticks(text)}, which YAML does not read as a string"
        self._report_syntax(event, f"a key must be a string, and this one is {what}", f'quote it: "{text}"')
        return str(text)

    def _alias(self, event: Any) -> Any:
        name = event.anchor
        if name not in self._anchors:
            raise _refused(
                event,
                f"the alias *{_shortened(name)} has no anchor before it",
                f"define &{_shortened(name)} first, or quote the string",
            )
        found = self._anchors[name]
        if found is None:
            raise _refused(
                event,
                f"the alias *{_shortened(name)} refers to itself",
                "a value cannot contain itself; write it out",
            )
        value, weight, height = found
        self._expanded += weight
        self._values += 1
        self._text += weight
        if self._expanded > MAX_EXPANSION:
            raise _refused(event, "the aliases expand the document beyond 4 MiB", "use fewer aliases of aliases")
        if self._depth + height > MAX_DEPTH:
            raise _refused(event, f"the aliases nest the document deeper than {MAX_DEPTH} levels", "flatten it")
        self._deepest = max(self._deepest, self._depth + height)
        return value

    def _report_syntax(self, event: Any, message: str, hint: str) -> None:
        mark = event.start_mark
        self._report("yaml-syntax", message, mark.line + 1, mark.column + 1, hint)


def _braces(key: object) -> bool:
    return isinstance(key, Map)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _in_backticks(text: str) -> str:
    return f"`{_shortened(text)}`"


def _refused(event: Any, message: str, hint: str) -> UnreadableDocumentError:
    mark = event.start_mark
    return UnreadableDocumentError(message, line=mark.line + 1, column=mark.column + 1, hint=hint)


__all__ = [
    "BARE_TEMPLATE",
    "EMPTY",
    "HALF",
    "MAX_DEPTH",
    "MAX_DIAGNOSTICS",
    "SEVERAL",
    "WHOLE",
    "Composer",
    "Map",
    "Mark",
    "Seq",
    "UnreadableDocumentError",
    "parser",
]
