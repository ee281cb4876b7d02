"""Ask one question per input, with description, type and default, until the value has the right type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gert_core.api import WRONG_ANSWERS, Answer, Declined, Question
from gert_core.kit.escaping import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Console, Deadline, InputBinding, Services

_WORDS: Final = {"y": "true", "yes": "true", "n": "false", "no": "false"}


class _End(Exception):  # noqa: N818 - the input has ended
    pass


def resolve(bindings: Sequence[InputBinding], deadline: Deadline, services: Services) -> Mapping[str, object]:
    """Ask for every binding in turn; without a terminal all stay unresolved."""
    console = services.console
    given: dict[str, object] = {}
    if not console.interactive:
        return given
    with console.exclusive():
        for binding in bindings:
            try:
                value = _ask(binding, console, deadline)
            except _End:
                break
            if value is not None:
                given[binding.name] = value
    return given


def _ask(binding: InputBinding, console: Console, deadline: Deadline) -> object:
    """Return the value, or ``None`` to leave it to the default; raise ``_End`` when there is none."""
    if binding.description:
        console.say("\n  ".join(binding.description.strip().splitlines()))  # no line of it begins like one of gert's
    question = _question(binding)
    for _ in range(WRONG_ANSWERS):
        try:
            given = console.ask(question.prompt, deadline=deadline, hidden=binding.secret, question=question)
        except Declined:
            raise _End from None
        if given is None:
            raise _End
        line = str(given.value) if isinstance(given, Answer) else given
        text = line if binding.secret else line.strip()
        if not text:
            if binding.has_default or not binding.required:
                return None
            console.say(f"{binding.name} is required.")
            continue
        if binding.check is None:
            return text
        if binding.type == "bool":
            text = _WORDS.get(text.lower(), text)
        try:
            return binding.check(text)
        except ValueError as error:
            fault = "is not accepted" if binding.secret else f"must be {binding.type}"
            console.say(f"{binding.name} {fault}: {error}.")  # the error of a secret does not show it
    console.say(f"None of {WRONG_ANSWERS} answers could be used.")
    raise _End


def _question(binding: InputBinding) -> Question:
    """Return the question for consoles that show more than a line."""
    return Question(
        name=binding.name,
        kind="input",
        prompt=_prompt(binding),
        title=binding.name,
        instructions=binding.description or "",
        items=tuple(_shown(choice) for choice in binding.choices or ()),
        hidden=binding.secret,
    )


def _prompt(binding: InputBinding) -> str:
    default = ""
    if binding.has_default:
        default = " [default hidden]" if binding.secret else f" [{_shown(binding.default)}]"
    kind = binding.type
    if binding.choices:
        kind = ", ".join(_shown(choice) for choice in binding.choices)
    return f"{binding.name} ({kind}){default}: "


def _shown(value: object) -> str:
    """Return a value as one line."""
    return escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


__all__ = ["resolve"]
