"""The functions a template may call: a closed table, each with a bounded result."""

from __future__ import annotations

from math import isfinite
from typing import Final

from gert_core.kit.excerpts import part, quoted
from gert_core.kit.json_reader import loads
from gert_core.template.arguments import MAX_ITEMS, Function, capped, list_of, text_of
from gert_core.template.data import (
    MAX_RESULT,
    equal,
    kind_of,
    number,
    order,
    to_json,
    to_text,
    too_large,
    truth,
    walk,
)
from gert_core.template.errors import TemplateError
from gert_core.template.lists import LISTS
from gert_core.template.printf import printf
from gert_core.template.regex import matches, replaced


def whole_text(text: str, offset: int = 0) -> str:
    """Return the text with surrogate pairs decoded; raise on half a pair, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise TemplateError("the string contains an unpaired surrogate", offset=offset) from None
    return text


def _eq(first: object, *others: object) -> bool:
    return any(equal(first, other) for other in others)


def _ne(left: object, right: object) -> bool:
    return not equal(left, right)


def _len(value: object) -> int:
    if isinstance(value, (str, dict, list, tuple)):
        return len(value)
    if value is None:
        return 0
    raise TemplateError(f"`len` needs a string, a list or a map, not {kind_of(value)}")


def _contains(needle: object, subject: object) -> bool:
    if isinstance(subject, dict):
        return isinstance(needle, str) and needle in subject
    if isinstance(subject, (list, tuple)):
        return any(equal(item, needle) for item in subject)
    return text_of(needle, "contains") in text_of(subject, "contains")


def _has_prefix(prefix: object, subject: object) -> bool:
    return text_of(subject, "hasPrefix").startswith(text_of(prefix, "hasPrefix"))


def _has_suffix(suffix: object, subject: object) -> bool:
    return text_of(subject, "hasSuffix").endswith(text_of(suffix, "hasSuffix"))


def _matches(pattern: object, subject: object) -> bool:
    return matches(text_of(pattern, "matches"), text_of(subject, "matches")) is not None


def _upper(subject: object) -> str:
    return capped(text_of(subject, "upper").upper())


def _lower(subject: object) -> str:
    return capped(text_of(subject, "lower").lower())


def _trim(subject: object) -> str:
    return text_of(subject, "trim").strip()


def _split(separator: object, subject: object) -> list[str]:
    text = capped(text_of(subject, "split"))
    mark = text_of(separator, "split")
    parts = text.split(mark, MAX_ITEMS) if mark else list(text[: MAX_ITEMS + 1])
    if len(parts) > MAX_ITEMS:
        raise TemplateError(f"`split` gives at most {MAX_ITEMS:,} parts")
    return parts


def _join(separator: object, subject: object) -> str:
    mark = text_of(separator, "join")
    parts = []
    size = 0
    for item in list_of(subject, "join"):
        part = to_text(item)
        size += len(part) + len(mark)
        if size > MAX_RESULT + len(mark):
            raise too_large()
        parts.append(part)
    return mark.join(parts)


def _replace(old: object, new: object, subject: object) -> str:
    text = text_of(subject, "replace")
    before, after = text_of(old, "replace"), text_of(new, "replace")
    if not before:
        raise TemplateError("`replace` needs a string to search for")
    if len(after) > len(before) and len(text) + text.count(before) * (len(after) - len(before)) > MAX_RESULT:
        raise too_large()
    return text.replace(before, after)


def _regex_replace(pattern: object, new: object, subject: object) -> str:
    texts = [text_of(value, "regexReplace") for value in (pattern, new, subject)]
    return replaced(texts[0], texts[1], texts[2], most=MAX_ITEMS, largest=MAX_RESULT)


def _lines(subject: object) -> list[str]:
    text = capped(text_of(subject, "lines")).replace("\r\n", "\n").removesuffix("\n")
    if text.count("\n") >= MAX_ITEMS:
        raise TemplateError(f"`lines` gives at most {MAX_ITEMS:,} lines")
    return text.split("\n") if text else []


def _date(form: object, subject: object) -> str:
    from gert_core.template.dates import date  # few templates use it

    return date(form, subject)


def _from_json(subject: object) -> object:
    def refuse(word: str) -> object:
        raise TemplateError(f"`fromJson` does not accept {word}")

    text = capped(text_of(subject, "fromJson"))
    try:
        value = loads(text, parse_constant=refuse)
    except ValueError as error:
        raise TemplateError(f"the string is not valid JSON: {error}") from None
    if "\\u" in text or "e" in text or "E" in text:
        # Half a surrogate pair and a number like 1e999 can be read, but not be written again.
        whole_text(to_json(value))
    return value


def _int(subject: object) -> int:
    if isinstance(subject, bool):
        return int(subject)
    value = number(subject.strip() if isinstance(subject, str) else subject)
    if value is None or (isinstance(value, float) and not isfinite(value)):
        raise TemplateError(f"`int` needs a number, not {_describe(subject)}")
    return int(value)


def _float(subject: object) -> float:
    value = number(subject.strip() if isinstance(subject, str) else subject)
    try:
        result = float(value) if value is not None else None
    except OverflowError:
        result = None
    if result is None or not isfinite(result):
        raise TemplateError(f"`float` needs a number, not {_describe(subject)}")
    return result


def _string(subject: object) -> str:
    return capped(to_text(subject))


def _to_json(subject: object) -> str:
    return capped(to_json(subject))


def _describe(value: object) -> str:
    return f"the string {quoted(part(value, 0, 40))}" if isinstance(value, str) else kind_of(value)


def key_of(value: object) -> str:
    """Return a computed key as a path segment."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return to_text(value)
    raise TemplateError(f"a key must be a string or an integer, not {kind_of(value)}")


def descend(base: object, *keys: object) -> object:
    """Return the member of a value at computed keys, as ``index`` does."""
    path = tuple(key_of(key) for key in keys)
    return walk(base, path, full=path)


_TABLE: Final = (
    Function("eq", _eq, 2, None, "bool"),
    Function("ne", _ne, 2, 2, "bool"),
    Function("lt", lambda a, b: order(a, b) < 0, 2, 2, "bool"),
    Function("le", lambda a, b: order(a, b) <= 0, 2, 2, "bool"),
    Function("gt", lambda a, b: order(a, b) > 0, 2, 2, "bool"),
    Function("ge", lambda a, b: order(a, b) >= 0, 2, 2, "bool"),
    Function("not", lambda value: not truth(value), 1, 1, "bool"),
    Function("len", _len, 1, 1, "int"),
    Function("contains", _contains, 2, 2, "bool"),
    Function("hasPrefix", _has_prefix, 2, 2, "bool"),
    Function("hasSuffix", _has_suffix, 2, 2, "bool"),
    Function("matches", _matches, 2, 2, "bool", cost=10),
    Function("upper", _upper, 1, 1, "string"),
    Function("lower", _lower, 1, 1, "string"),
    Function("trim", _trim, 1, 1, "string"),
    Function("split", _split, 2, 2, "list", cost=10),
    Function("join", _join, 2, 2, "string"),
    Function("replace", _replace, 3, 3, "string"),
    Function("regexReplace", _regex_replace, 3, 3, "string", cost=20),
    Function("date", _date, 2, 2, "string"),
    Function("lines", _lines, 1, 1, "list", cost=10),
    Function("printf", printf, 1, None, "string"),
    Function("toJson", _to_json, 1, 1, "string", cost=10),
    Function("fromJson", _from_json, 1, 1, "any", cost=10),
    Function("int", _int, 1, 1, "int"),
    Function("float", _float, 1, 1, "float"),
    Function("string", _string, 1, 1, "string", cost=10),
    Function("bool", truth, 1, 1, "bool"),
)
FUNCTIONS: Final = {function.name: function for function in (*_TABLE, *LISTS)}
SPECIAL: Final[dict[str, tuple[int, int | None]]] = {
    "and": (1, None),
    "or": (1, None),
    "default": (2, 2),
    "index": (1, None),
}
"""Forms that do not evaluate all arguments first, with their least and greatest number of arguments."""
_SUBJECT_LAST: Final = frozenset({"contains", "date", "hasPrefix", "hasSuffix", "matches", "split"})
_SUBJECT_FIRST: Final = frozenset({"where", "pluck"})

_CALLS: Final = {
    "where": 'where .items "field" "value"',
    "pluck": 'pluck .items "field"',
    "date": 'date "%Y-%m-%d" .run.started',
    "split": 'split "," .text',
    "join": 'join "," .items',
    "replace": 'replace "old" "new" .text',
    "regexReplace": 'regexReplace "old" "new" .text',
    "contains": 'contains "part" .text',
    "hasPrefix": 'hasPrefix "start" .text',
    "hasSuffix": 'hasSuffix "end" .text',
    "matches": 'matches "^a" .text',
}
"""How functions are called whose arguments are easily forgotten."""


def subject_is_last(name: str) -> bool:
    """Return whether the subject is the last argument, which is easily mistaken for this function."""
    return name in _SUBJECT_LAST


def subject_is_first(name: str) -> bool:
    """Return whether the subject, which a pipeline gives, is the first argument instead of the last."""
    return name in _SUBJECT_FIRST


def check_arity(name: str, given: int, offset: int = 0) -> None:
    """Raise when a call has too few or too many arguments."""
    function = FUNCTIONS.get(name)
    least, most = (function.least, function.most) if function else SPECIAL[name]
    if given >= least and (most is None or given <= most):
        return
    needed = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    plural = "" if needed == "1" else "s"
    hint = f"write it like `{_CALLS[name]}`" if name in _CALLS else None
    if name == "default":
        hint = 'write `.value | default ""`'
    raise TemplateError(f"`{name}` takes {needed} argument{plural}, not {given}", offset=offset, hint=hint)


__all__ = [
    "FUNCTIONS",
    "SPECIAL",
    "check_arity",
    "descend",
    "key_of",
    "subject_is_first",
    "subject_is_last",
    "whole_text",
]
