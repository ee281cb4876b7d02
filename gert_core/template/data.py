"""Operations on template values: member access, truth, text, equality and order."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, Protocol

from gert_core.api.results import Undecided
from gert_core.template.errors import TemplateError, UndefinedVariable, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    Facts: TypeAlias = Mapping[str, Mapping[str, object]]

MAX_RESULT: Final = 1024 * 1024
_NUMBER: Final = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?\Z"
_INDEX: Final = r"-?[0-9]{1,9}\Z"
_DEEPEST: Final = 200
_NOTHING: Final[Facts] = {}


class Symbol(str):
    """A value known only in a real run; its text is the template that computes it."""

    __slots__ = ()


class ListResults(list[object]):
    """The results of a loop as a list.

    ``facts`` has for each item what is looked up beside its value, such as its status: a path leads to it, but it is no
    part of the value. ``rest`` has the same of items that are not in the results, by number.
    """

    __slots__ = ("facts", "rest")

    def __init__(
        self, results: Iterable[object], facts: Sequence[Mapping[str, object]], rest: Facts = _NOTHING
    ) -> None:
        super().__init__(results)
        self.facts = facts
        self.rest = rest


class MapResults(dict[str, object]):
    """The results of a loop by key; ``facts`` and ``rest`` are those of ``ListResults``, by key."""

    __slots__ = ("facts", "rest")

    def __init__(self, results: Mapping[str, object], facts: Facts, rest: Facts = _NOTHING) -> None:
        super().__init__(results)
        self.facts = facts
        self.rest = rest


class Variables(Protocol):
    """The source of a template's variables."""

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at a path; raise ``UndefinedVariable``, or ``Undecided`` if only a real run can tell."""

    def names(self) -> Iterable[str]:
        """Return the defined names, for suggestions."""


class MappingVariables:
    """Variables in a mapping."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data

    def resolve(self, path: tuple[str, ...]) -> object:
        """Return the value at ``path``."""
        return walk(self._data, path, full=path)

    def names(self) -> Iterable[str]:
        """Return the top-level names."""
        return self._data


def walk(value: object, segments: tuple[str, ...], *, full: tuple[str, ...]) -> object:
    """Return the member of a value at a path: keys of maps, indexes of lists, facts about items, and nothing else."""
    beside: Mapping[str, object] | None = None
    for count, segment in enumerate(segments):
        if isinstance(value, dict):
            if segment in value:
                beside = value.facts.get(segment) if type(value) is MapResults else None
                value = value[segment]
                continue
        elif isinstance(value, (list, tuple)):
            if re.match(_INDEX, segment) and -len(value) <= int(segment) < len(value):
                beside = value.facts[int(segment)] if type(value) is ListResults else None
                value = value[int(segment)]
                continue
        elif type(value) is Symbol:
            raise Undecided(dotted(full))
        if beside is None or segment not in beside:
            if isinstance(value, (MapResults, ListResults)) and segment in value.rest and count + 1 < len(segments):
                beside, value = value.rest[segment], None
                continue
            raise _missing(value, full, count + len(full) - len(segments), beside=beside or {})
        value, beside = beside[segment], None
    if type(value) is Symbol:
        raise Undecided(dotted(full))
    return value


def _missing(value: object, full: tuple[str, ...], at: int, *, beside: Mapping[str, object]) -> UndefinedVariable:
    before = dotted(full[:at]) if at else ""
    known: list[str] = []
    if isinstance(value, dict):
        known = [f"{before}.{key}" for key in (*value, *beside) if isinstance(key, str)]
    error = UndefinedVariable(full, known=known)
    error.of_null = value is None
    if isinstance(value, (list, tuple)):
        error.message += f": `{before}` is a list of {len(value)}"
    elif at and not isinstance(value, dict):
        error.message += f": `{before}` is {kind_of(value)}, which has no fields"
    return error


def kind_of(value: object) -> str:
    """Return the type of a value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, (list, tuple)) else "an unsupported value"


def truth(value: object) -> bool:
    """Return the truth of a value: null, 0, empty collections and the strings "" and "false" are false."""
    if isinstance(value, str):
        return value.strip() not in ("", "false")
    return bool(value)


def to_text(value: object) -> str:
    """Convert a value to text: maps and lists to compact JSON, null to the empty string."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        if value.bit_length() > 12_000:
            raise TemplateError("the number is too large to be converted to text")
        return str(value)
    return to_json(value)


def shown(value: object) -> str:
    """Convert a value to text for people, as ``to_text`` does, but whatever its size is: what is shown never raises."""
    try:
        return to_text(value)
    except TemplateError:
        try:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
        except (ValueError, RecursionError):
            return f"{kind_of(value)} too large to be shown"


def to_json(value: object) -> str:
    """Convert a value to compact JSON in the order of the data; raise when it would be too large."""
    measure(value)
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateError(f"the value cannot be converted to JSON: {error}") from None


def measure(value: object, size: int = 0) -> int:
    """Return ``size`` plus the size of a value, shared parts counted each time; raise when it exceeds the limit."""
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            size += sum(map(len, item))
            stack.extend((part, depth + 1) for part in item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend((part, depth + 1) for part in item)
        if size + len(stack) > MAX_RESULT:
            raise too_large()
        if depth > _DEEPEST:
            raise TemplateError(f"the value is nested deeper than {_DEEPEST} levels")
    return size


def too_large() -> TemplateError:
    """Return the error for a result over the limit."""
    return TemplateError("the result is larger than 1 MiB", hint="templates are for small values; use a tool")


def number(value: object) -> int | float | None:
    """Convert a number or a numeric string to a number; None for everything else, booleans included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and len(value) <= 400 and re.match(_NUMBER, value):
        try:
            return int(value)
        except ValueError:
            return float(value)
    return None


def equal(left: object, right: object) -> bool:
    """Compare as ``eq`` does: numbers equal numeric strings, booleans the strings "true" and "false"."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        if isinstance(left, bool) and isinstance(right, bool):
            return left is right
        flag, other = (left, right) if isinstance(left, bool) else (right, left)
        return isinstance(other, str) and other == ("true" if flag else "false")
    if isinstance(left, (dict, list, tuple)) or isinstance(right, (dict, list, tuple)):
        try:
            return _same(left, right)
        except RecursionError:
            raise TemplateError("the values are nested too deeply to be compared") from None
    if left is None or right is None:
        return left is right
    one, two = number(left), number(right)
    return one is not None and two is not None and one == two


def _same(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    return False


def order(left: object, right: object) -> int:
    """Return -1, 0 or 1: by number when both sides are numeric, by text when both are strings; else raise."""
    one, two = number(left), number(right)
    if one is not None and two is not None:
        return (one > two) - (one < two)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    raise TemplateError(
        f"{kind_of(left)} and {kind_of(right)} cannot be ordered", hint="compare two numbers or two strings"
    )


__all__ = [
    "MAX_RESULT",
    "ListResults",
    "MapResults",
    "MappingVariables",
    "Symbol",
    "Variables",
    "equal",
    "kind_of",
    "measure",
    "number",
    "order",
    "shown",
    "to_json",
    "to_text",
    "too_large",
    "truth",
    "walk",
]
