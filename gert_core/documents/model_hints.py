"""Hints about fields and values that a model refuses: the likely name, the right spelling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.fields import TAG_PATTERN

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence


KINDS: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "template_type": "a template",
    "duration_type": "a duration such as 30s",
}
"""What was expected, for errors about the type of a value."""

WRITTEN_AS: Final = "write it as `NAME`"
"""The hint for a field that is called otherwise here."""
MEANT: Final = "did you mean `NAME`?"
"""The hint for a field or name that is spelled wrong."""
MODELS: Final = frozenset({"model_type", "model_attributes_type"})
"""The errors about a value that should be a map with fields of its own."""

LONGEST_NAME: Final = 64
"""Longer names get no suggestion."""

_ARGV: Final = "argv"
META: Final = "meta"
_CLOSE: Final = 0.6
_SAME: Final = 0.85
_LONGEST_COMMAND: Final = 400
_CHOICES: Final = ("enum", "choice", "select")
_TYPES: Final = {
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("integer", "long"), "int"),
    **dict.fromkeys(("number", "double", "decimal"), "float"),
    "boolean": "bool",
    **dict.fromkeys(("array", "tuple", "stringlist"), "list"),
    **dict.fromkeys(("dict", "map", "mapping", "stringmap"), "object"),
    **dict.fromkeys(_CHOICES, "string"),
}
"""Types of values, by what other tools call them."""
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "yes", "on", "y"), "true"),
    **dict.fromkeys(("false", "no", "off", "n"), "false"),
}


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return ``did you mean `x`?`` when a known name is similar."""
    near = meant(name, known)
    return MEANT.replace("NAME", near) if near else None


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar, None when none is."""
    from difflib import get_close_matches

    if len(name) > LONGEST_NAME:
        return None  # comparing takes quadratic time, and no known name is this long
    names = list(known)
    # Hardly anybody mistypes the first letter: names that begin otherwise are other words unless all else is the same.
    near = get_close_matches(name, [one for one in names if one[:1] == name[:1]], n=1, cutoff=_CLOSE)
    near = near or get_close_matches(name, names, n=1, cutoff=_SAME)
    return near[0] if near else None


def type_hint(kinds: list[str], value: object, *, name: str, named_by: str | None = None) -> str | None:
    """Return how to write a value of a commonly confused type; ``named_by`` is for a list of maps, see there."""
    if kinds == [KINDS["list_type"]] and named_by is not None and (hint := _maps_hint(value, named_by)):
        return hint
    if isinstance(value, str):
        word = value.strip().lower()
        if KINDS["bool_type"] in kinds and word in _BOOLEANS:
            return f"write {_BOOLEANS[word]}"
        if KINDS["int_type"] in kinds and word.lstrip("-").isdecimal():
            return f"write {word} without quotes"
        if kinds == [KINDS["int_type"]] and word.startswith("{{"):
            example = "3" if name.isdecimal() else f"{name}: 3"
            return f"write a number, such as `{example}`: no template is filled in here"
        if KINDS["list_type"] in kinds and name == _ARGV:
            return _argv_hint(value)
        if KINDS["list_type"] in kinds and len(value) <= LONGEST_NAME:
            from gert_core.template.quoting import listed  # only mistakes need it

            return f"write a list: {listed(value)}"
    elif isinstance(value, (bool, int, float)) and KINDS["string_type"] in kinds:
        return "put it in quotes"
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and KINDS["list_type"] in kinds:
        return f"write a list: [{value}]"
    elif isinstance(value, dict) and KINDS["list_type"] in kinds:
        return "begin each item with `- `, or put `[` and `]` around it"
    elif isinstance(value, list) and KINDS["dict_type"] in kinds:
        return "leave the `- `, or the `[` and `]`, out"
    return None


def _maps_hint(value: object, named_by: str) -> str | None:
    """Return how to write a list of maps in place of a text, or of a map with a map for each name."""
    if isinstance(value, str):
        return "write a list of maps: begin each with `- `, and write its fields"
    if named_by and isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        first = next(iter(value))
        return f"write a list: begin each item with `- {named_by}: {first}` instead of `{first}:`"
    return None


def map_hint(value: object, *, required: list[str]) -> str | None:
    """Return the map that was probably meant by a text: one with the fields that it must have."""
    if not required or not isinstance(value, str):
        return None
    plain = len(required) == 1 and re.fullmatch(r"[\w./-]{1,64}", value)
    return "write a map: {" + ", ".join(f"{name}: {value if plain else '...'}" for name in required) + "}"


def choice_hint(value: object, expected: str, *, beside: Mapping[str, Any]) -> str | None:
    """Return which of the expected words was probably meant; ``beside`` are the fields beside the value."""
    words = re.findall(r"'([^']*)'", expected)
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        return None
    word = value.strip().lower()
    right = next((one for one in (word, _TYPES.get(word)) if one in words), None) or meant(value, words)
    if word in _CHOICES and right == "string":
        right = _type_of_choices(beside) or right
    return f"write `{right}`" if right else None


def _type_of_choices(beside: Mapping[str, Any]) -> str | None:
    """Return the type of the values that a list beside it allows; None for texts."""
    allowed = next((one for one in beside.values() if isinstance(one, list) and one), [])
    kinds = {type(one) for one in allowed}
    return {bool: "bool", int: "int", float: "float"}.get(kinds.pop()) if len(kinds) == 1 else None


def _argv_hint(command: str) -> str:
    from gert_core.template.quoting import argv_list  # only mistakes need it

    spelled = argv_list(command) if len(command) <= _LONGEST_COMMAND else None
    if spelled is None:
        return "write a list of arguments, one item each; for pipes and the like call a script"
    return f"write a list of arguments: {spelled}"


def suggest_field(name: str, known: Iterable[str], *, written: Container[str]) -> str | None:
    """Return what to do about an unknown field beside those written, when a known one is similar."""
    near = meant(name, known)
    if near is None:
        return None
    return f"remove it: `{near}` is there already" if near in written else MEANT.replace("NAME", near)


def map_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the map at a path; an empty one when the document has no such map."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return {}
    return value if isinstance(value, dict) else {}


def tag_hint(value: object) -> str | None:
    """Return the tag that was probably meant."""
    meant = str(value).strip().lower()
    return f"write `{meant}`" if re.fullmatch(TAG_PATTERN, meant) else None


__all__ = [
    "KINDS",
    "LONGEST_NAME",
    "MEANT",
    "META",
    "MODELS",
    "WRITTEN_AS",
    "choice_hint",
    "map_at",
    "map_hint",
    "meant",
    "suggest",
    "suggest_field",
    "tag_hint",
    "type_hint",
]
