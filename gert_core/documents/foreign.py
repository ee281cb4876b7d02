"""Hints about words of other tools: fields and types that runbooks written for them have, and what they are here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.fields import NAME_PATTERN
from gert_core.documents.model_hints import WRITTEN_AS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from gert_core.api import StepType

_LOOPS: Final = frozenset({"loop", "with_items", "foreach", "forEach", "matrix"})
_RETRIES: Final = frozenset({"retries", "attempts", "maxAttempts", "max_attempts", "delay"})
_TARGETS: Final = {
    **dict.fromkeys(_LOOPS, "for_each"),
    **dict.fromkeys(_RETRIES, "retry"),
    **dict.fromkeys(("nextStep", "next_step"), "next"),
    **dict.fromkeys(("isCritical", "ignore_errors"), "continue_on_fail"),
    "if": "when",
    "until": "retry",
}
"""Fields that every step has, by what other tools call them."""
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
_ATTEMPTS: Final = 3
_LONGEST: Final = 60


def foreign_type(name: str, types: Iterable[StepType], *, common: Container[str], owners: Iterable[str]) -> str | None:
    """Return the step types that a word for a type of step stands for, or where it is a field.

    ``common`` are the fields of every step; ``owners`` are the types that have a field of that name.
    """
    found = [(one.name, one.also_called[name]) for one in types if name in one.also_called]
    looped = name in _LOOPS or name in ("for_each", "for")
    each = f"write `for_each: {{as: item, over: {_over(None)}}}` in a step of any type" if looped else ""
    if found and all(not field for _, field in found):
        near = f"did you mean {' or '.join(f'`{owner}`' for owner, _ in sorted(found))}?"
        return f"{near} For each item of a list, {each}" if each else near
    if hint := _places(found) or each:
        return hint
    if name in common:
        return f"write `{name}` as a field of a step of another type"
    return _places([(owner, name) for owner in owners])


def foreign_field(
    name: str,
    raw: Mapping[str, Any],
    kind: StepType,
    types: Iterable[StepType],
    *,
    fields: Container[str],
    owners: Iterable[str],
) -> str | None:
    """Return what a field that a step does not have is called here; ``owners`` are the types that have the field."""
    types, mine = list(types), kind.also_called.get(name)
    if (hint := _into_items(name, raw, kind)) is not None:
        return hint
    if not mine and _STEPS in fields and any(_holds_steps(one.also_called.get(name)) for one in types):
        mine = _STEPS
    if mine and (hint := _inside(mine, raw, kind)) is not None:
        return hint
    if mine:
        return f"remove it: `{mine}` is there already" if mine in raw else WRITTEN_AS.replace("NAME", mine)
    common = _common(name, raw)
    found = [(one.name, one.also_called[name]) for one in types if name in one.also_called and one is not kind]
    found = [(owner, field) for owner, field in found if field != owner]  # which says what the type is for, not others
    if common is not None:  # then a type of that name is not what is meant
        found = [(owner, field) for owner, field in found if field] + [(owner, name) for owner in owners]
    return "; or ".join(part for part in (common, _places(found)) if part) or None


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


def elsewhere(name: str, fields: Iterable[str], owners: Mapping[str, Iterable[str]]) -> str:
    """Return what to do about a field that only other types have, ``owners``; some hold steps and have it for those."""
    holding = [owner for owner, theirs in owners.items() if _STEPS in theirs]
    if holding and _STEPS not in (*fields, name):
        return f"put this step under `{_STEPS}` of a step of type `{holding[0]}`, and `{name}` beside them"
    return f"remove it, or add a step of type {' or '.join(f'`{owner}`' for owner in owners)} that has it"


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
    return _over(value) if isinstance(value, str) and value.startswith("{{") else "..."


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


def _common(name: str, raw: Mapping[str, Any]) -> str | None:
    """Return which field that every step has is meant."""
    value, hint = raw.get(name), None
    if _TARGETS.get(name) in raw:
        hint = f"remove it: `{_TARGETS[name]}` is there already"
    elif name in _LOOPS:
        hint = f"write `for_each: {{as: item, over: {_over(value)}}}`; the item is `.item` then"
    elif name in _RETRIES:
        hint = f"write `{_retry_field(raw)}`"
    elif name == "until":
        hint = f"write `{_retry_field(raw)}` to attempt the step again while it fails"
    elif name == "register":
        hint = _register(raw.get("id"), value)
    elif name in ("nextStep", "next_step"):
        hint = f"write `next: {value}`" if _is_name(value) else "the field is called `next`"
    elif name == "if":
        hint = "the field is called `when`"
    elif name == "name":
        hint = f"write `id: {value}`" if "id" not in raw and _is_name(value) else "the field is called `description`"
    else:
        hint = _failure(name, value)
    return hint


def _failure(name: str, value: object) -> str | None:
    """Return how a step says what its failure does to the run."""
    goes_on = {"isCritical": value is False, "ignore_errors": value is True, "onFailure": str(value) == "Continue"}
    ends = {"isCritical": value is True, "ignore_errors": value is False, "onFailure": str(value) == "Abort"}
    if goes_on.get(name):
        return "write `continue_on_fail: true`"
    return "remove it: a step that fails ends the run anyway" if ends.get(name) else None


def foreign_retry(name: str, written: Mapping[str, Any]) -> str | None:
    """Return what a number of attempts inside ``retry`` is called here."""
    if name not in _RETRIES:
        return None
    if "max" in written:
        return "remove it: `max` is there already"
    most = _attempts(name, written[name]) or _ATTEMPTS
    return f"write `max: {most}`, the number of attempts, the first one included"


def _retry_field(raw: Mapping[str, Any]) -> str:
    """Return the field ``retry`` that says what a step says in other words."""
    most = next((_attempts(name, raw[name]) for name in raw if name in _RETRIES and name != "delay"), None)
    delay = raw.get("delay")
    unit = "s" if isinstance(delay, int) else ""
    pause = f", delay: {delay}{unit}" if isinstance(delay, (int, str)) and re.fullmatch(r"\w+", str(delay)) else ""
    return f"retry: {{max: {most or _ATTEMPTS}{pause}}}"


def _attempts(name: str, value: object) -> int | None:
    """Return how many attempts a number of attempts or of retries makes, the first one included."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return None
    return value + 1 if name == "retries" else value


def _register(step_id: object, value: object) -> str:
    if isinstance(step_id, str):
        return f"remove it: the outputs of this step are at `.{step_id}`, such as `.{step_id}.NAME`"
    return f"write `id: {value if _is_name(value) else 'look'}`; the outputs are below that name then"


def _over(value: object) -> str:
    if isinstance(value, str) and value.startswith("{{") and len(value) <= _LONGEST:
        quote = "'" if "'" not in value else '"'
        return f"{quote}{value}{quote}"
    return "[...]"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.search(NAME_PATTERN, value) is not None


__all__ = ["document_word", "foreign_field", "foreign_retry", "foreign_type", "guessed_type"]
