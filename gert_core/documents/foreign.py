"""Hints about words of other tools: fields and types that runbooks written for them have, and what they are here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.foreign_fields import JUMPS, LOOPS, SETTERS, UNDER_META, over, told_elsewhere, word_of_steps
from gert_core.documents.model_hints import MEANT, WRITTEN_AS, meant

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from gert_core.api import StepType

_IN_DOCUMENTS: Final = {
    **dict.fromkeys(("choices", "values", "options", "allowed", "allowed_values", "allowedValues"), "enum"),
    **dict.fromkeys(("regex", "allowedPattern", "allowed_pattern"), "pattern"),
    **dict.fromkeys(("minimum", "min_length", "minLength", "minItems"), "min"),
    **dict.fromkeys(("maximum", "max_length", "maxLength", "maxItems"), "max"),
    **dict.fromkeys(("command", "cmd", "args"), "argv"),
    **dict.fromkeys(("workdir", "working_dir", "working_directory", "chdir"), "cwd"),
    **dict.fromkeys(("environment", "envs"), "env"),
    **dict.fromkeys(("in", "items"), "over"),
    **dict.fromkeys(("item", "var", "loop_var"), "as"),
    **dict.fromkeys(("vars", "variables"), "constants"),
    **dict.fromkeys(("parameters", "params"), "inputs"),
    **dict.fromkeys(("tasks", "mainSteps"), "steps"),
    **dict.fromkeys(("actual", "expression"), "value"),
    **dict.fromkeys(("op", "operator"), "type"),
    "if": "condition",
}
"""Fields of inputs, tools and heads, by what other tools call them."""
_IN_SECRETS: Final = dict.fromkeys(("name", "key", "var", "variable"), "env")
_STEPS: Final = "steps"
"""The field of a step that holds others."""
_NUMBER: Final = r"0|[1-9][0-9]{0,8}"
"""A whole number, which is meant as such where it is written in quotes."""


_SHOWS: Final = frozenset({"debug", "print", "log", "echo", "message"})
"""Types of steps that show a text."""


def foreign_type(name: str, types: Iterable[StepType], *, common: Container[str], owners: Iterable[str]) -> str | None:
    """Return the step types that a word for a type of step stands for, or where it is a field.

    ``common`` are the fields of every step; ``owners`` are the types that have a field of that name. A word may have
    the name of a collection or a vendor in front of it.
    """
    types, bare = list(types), re.split("[.:]", name)[-1]
    hint = _type_of(name, types) or (_type_of(bare, types) if bare != name else None)
    if hint is None and any(one.name == bare for one in types):
        hint = MEANT.replace("NAME", bare)
    if hint is None and bare in SETTERS:
        hint = f"remove the step, and write its values {UNDER_META}"
    if hint is None and bare in _SHOWS:
        hint = "remove the step, or write its text as `description` of another one"
    if hint is None and (name in common or name in JUMPS):
        hint = f"write `{name if name in common else 'next'}` as a field of a step of another type"
    return hint or _places([(owner, name) for owner in owners])


def _type_of(name: str, types: Iterable[StepType]) -> str | None:
    """Return the step types that call themselves so too, or that have a field that does."""
    found = [(one.name, one.also_called[name]) for one in types if name in one.also_called]
    looped = name in LOOPS or name in ("for_each", "for")
    each = f"write `for_each: {{as: item, over: {over(None)}}}` in a step of any type" if looped else ""
    if found and all(not field for _, field in found):
        near = f"did you mean {' or '.join(f'`{owner}`' for owner, _ in sorted(found))}?"
        return f"{near} For each item of a list, {each}" if each else near
    return _places(found) or each or None


def foreign_field(
    name: str,
    raw: Mapping[str, Any],
    kind: StepType,
    types: Iterable[StepType],
    *,
    fields: Collection[str],
    owners: Sequence[str],
) -> str | None:
    """Return what a field that a step does not have is called here; ``owners`` are the types that have the field."""
    types, mine = list(types), kind.also_called.get(name)
    if name == kind.name and (hint := _named_twice(raw[name], mine, kind=name, fields=fields)) is not None:
        return hint
    if (hint := _into_items(name, raw, kind)) is not None:
        return hint
    if not mine and _STEPS in fields and any(_holds_steps(one.also_called.get(name)) for one in types):
        mine = _STEPS
    if mine and (hint := _inside(mine, raw, kind)) is not None:
        return hint
    if mine:
        return f"remove it: `{mine}` is there already" if mine in raw else WRITTEN_AS.replace("NAME", mine)
    common = word_of_steps(name, raw)
    found = [(one.name, one.also_called[name]) for one in types if name in one.also_called and one is not kind]
    # What a type is for tells nothing about others, and a field of that name belongs to that type as it is.
    found = [(owner, field) for owner, field in found if field != owner and not field.startswith(f"{name}.")]
    found = [(owner, field) for owner, field in found if owner != name or not isinstance(raw[name], bool)]
    if common is not None:  # then a type of that name is not what is meant
        found = [(owner, field) for owner, field in found if field] + [(owner, name) for owner in owners]
    if (hint := "; or ".join(part for part in (common, _places(found)) if part)) or owners:
        return hint or None
    return f"use a step of type `{name}`" if any(one.name == name for one in types) else told_elsewhere(name)


def _named_twice(value: object, mine: str | None, *, kind: str, fields: Collection[str]) -> str | None:
    """Return what to do about a field called like the type of its step; None where it stands for the field ``mine``."""
    if isinstance(value, dict) and value and all(name in fields for name in value):
        return f"move its fields to the step, and remove `{kind}`"
    if not mine and isinstance(value, list) and (near := meant(kind, sorted(fields))) is not None:
        return WRITTEN_AS.replace("NAME", near)
    if mine and isinstance(value, list) == (mine == _STEPS) and not isinstance(value, bool | dict | None):
        return None
    return f"remove it: `type: {kind}` is enough; its fields: {', '.join(f'`{one}`' for one in sorted(fields))}"


def _holds_steps(field: str | None) -> bool:
    return field is not None and field.rpartition(".")[2] == _STEPS


def _into_items(name: str, raw: Mapping[str, Any], kind: StepType) -> str | None:
    """Return into which list a field goes that belongs to its items, or that stands beside such a field."""
    lists = {word: path.partition("[].") for word, path in kind.also_called.items() if word in raw and "[]." in path}
    if not lists or name not in kind.also_called:
        return None
    owner, _, field = lists.get(name) or next(iter(lists.values()))
    if name not in lists and kind.also_called[name]:
        return None
    value = raw[name]
    others = field != _STEPS and isinstance(value, list) and any(isinstance(one, dict) for one in value)
    return f"move it into an item of `{owner}`" + (f", as `{field}`" if name in lists and not others else "")


def elsewhere(name: str, fields: Iterable[str], owners: Mapping[str, Iterable[str]], *, written: str) -> str:
    """Return what to do about a field that only other types have, ``owners``; some hold steps and have it for those.

    ``written`` is how it is written there.
    """
    holding = [owner for owner, theirs in owners.items() if _STEPS in theirs]
    if holding and _STEPS not in (*fields, name):
        return f"put this step under `{_STEPS}` of a step of type `{holding[0]}`, and `{written}` beside them"
    return f"remove it, or add a step of type {' or '.join(f'`{owner}`' for owner in owners)} that has it"


def in_map(name: str, value: object, words: Mapping[str, str]) -> str | None:
    """Return the map that is meant by a value of a field; ``words`` has its name for a field of that map."""
    owner, _, field = words.get(name, "").partition(".")
    if owner != name or not field or isinstance(value, dict | list):
        return None
    return f"{name}: {{{field}: {'...' if _is_condition(value) else _flow(value)}}}"


def _is_condition(value: object) -> bool:
    """Return whether a value is true or false, also as a template: that is when, and no number or text."""
    if not isinstance(value, str) or not value.startswith("{{"):
        return isinstance(value, bool)
    from gert_core.template import TemplateError, compile_value, infer  # only mistakes need it

    try:
        return infer(compile_value(value), lambda _: None) == "bool"
    except TemplateError:
        return False


def document_word(name: str, above: Sequence[str | int]) -> str:
    """Return what a field of other tools is called below a path, outside of steps; empty when nothing is known."""
    if "secrets" in above[-2:] and name in _IN_SECRETS:
        return _IN_SECRETS[name]
    return _IN_DOCUMENTS.get(name, "")


def _inside(mine: str, raw: Mapping[str, Any], kind: StepType) -> str | None:
    """Return where a field goes that stands beside the map it belongs in; None when it belongs in none."""
    owner, _, field = mine.partition(".")
    if not field or "[" in owner:
        return None
    written = raw.get(owner)
    if isinstance(written, dict):
        return f"remove it: `{mine}` is there already" if field in written else f"move it into `{owner}`, as `{field}`"
    places = [(word, path.partition(".")) for word, path in kind.also_called.items() if word in raw]
    beside = {inner: raw[word] for word, (outer, _, inner) in places if outer == owner}
    return f"write `{owner}: {{{', '.join(f'{name}: {_flow(value)}' for name, value in beside.items())}}}`"


def _flow(value: object) -> str:
    """Return a value as it is written inside braces."""
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str) and re.fullmatch(_NUMBER, value):
        return value
    return over(value) if isinstance(value, str) and value.startswith("{{") else "..."


def guessed_type(raw: Mapping[str, Any], fields: Mapping[str, Iterable[str]]) -> str | None:
    """Return the type that a step without one has by its fields: the only one that has all of those that any has."""
    telling = [name for name in raw if any(name in known for known in fields.values())]
    fitting = [kind for kind, known in fields.items() if telling and all(name in known for name in telling)]
    if len(fitting) != 1:
        return None
    return f"a step with {_listed(telling)} is of type `{fitting[0]}`: add `type: {fitting[0]}`"


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _places(found: list[tuple[str, str]]) -> str | None:
    if not found:
        return None
    places = (
        f"`{field}` of a step of type `{kind}`" if field else f"a step of type `{kind}`"
        for kind, field in sorted(found)
    )
    return f"use {' or '.join(places)}"


__all__ = ["document_word", "elsewhere", "foreign_field", "foreign_type", "guessed_type", "in_map"]
