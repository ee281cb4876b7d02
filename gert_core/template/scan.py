"""Split a text into literal parts and the expressions between ``{{`` and ``}}``."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from gert_core.template.errors import TemplateError

MAX_EXPRESSION: Final = 8 * 1024
MAX_EXPRESSIONS: Final = 10_000
_PLAIN: Final = re.compile(r"""[^"'`{}]*+\}\}""")
"""An expression without strings and braces, to its end."""
_STEP: Final = r'(?s)"(?:[^"\\]+|\\.)*+"?|\'(?:[^\'\\]+|\\.)*+\'?|`[^`]*+`?|\{|\}'


class Expression(Struct, frozen=True):
    """The text between the braces, and where it begins in the whole text."""

    text: str
    offset: int
    source: str


def split(text: str) -> list[str | Expression]:
    """Return literal parts and expressions in order; empty literals are left out."""
    parts: list[str | Expression] = []
    at = 0
    while (start := text.find("{{", at)) >= 0:
        end = _end(text, start)
        if start > at:
            parts.append(text[at:start])
        parts.append(Expression(text[start + 2 : end].strip(), start, text[start : end + 2]))
        at = end + 2
        if len(parts) > MAX_EXPRESSIONS:
            raise TemplateError(f"the text has more than {MAX_EXPRESSIONS:,} expressions", offset=start)
    if at < len(text):
        parts.append(text[at:])
    _refuse_statements(text, parts)
    return parts


def _end(text: str, start: int) -> int:
    """Return the position of the expression's ``}}``; braces in strings and of nested maps do not end it."""
    plain = _PLAIN.match(text, start + 2, start + 2 + MAX_EXPRESSION + 2)
    if plain is not None:
        return plain.end() - 2
    window = text[start + 2 : start + 2 + MAX_EXPRESSION + 2]
    depth = 0
    closed = -1
    quote: int | None = None
    for step in re.finditer(_STEP, window):
        mark = step[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            position = step.start()
            if depth:
                depth -= 1
            elif position == closed + 1 and closed >= 0:
                return start + 2 + closed
            else:
                closed = position
        elif len(mark) < 2 or mark[-1] != mark[0]:
            quote = start + 2 + step.start()
    if len(window) > MAX_EXPRESSION:
        raise TemplateError(
            "the expression is longer than 8 KiB or is not closed", offset=start, hint="close it with `}}`"
        )
    if quote is not None:
        raise TemplateError("the string is not closed", offset=quote, hint=f"close it with {text[quote]}")
    raise TemplateError(
        "the expression is not closed", offset=start, hint='close it with `}}`; write braces as {{ "{{" }}'
    )


def _refuse_statements(text: str, parts: list[str | Expression]) -> None:
    if "{%" not in text and "{#" not in text:
        return
    literal = "\0".join(part if isinstance(part, str) else "" for part in parts)
    for opening, closing, what in (("{%", "%}", "statements"), ("{#", "#}", "comments")):
        found = literal.find(opening)
        if found >= 0 and literal.find(closing, found + 2) >= 0:
            raise TemplateError(
                f"template {what} `{opening} {closing}` are not allowed",
                offset=max(text.find(opening), 0),
                hint=f'use expressions only; write the characters as {{{{ "{opening}" }}}}',
            )


__all__ = ["MAX_EXPRESSION", "Expression", "split"]
