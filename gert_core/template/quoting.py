"""Spell values in hints so that they are valid YAML where they are meant to be written."""

from __future__ import annotations

import json
import re
from typing import Final

_CODE: Final = re.compile(r"`[^`]*`|(?<!['\"])\{\{.*?\}\}(?!['\"])")
_NESTED: Final = re.compile(r'"((?:\{\{(?:(?!\}\}).)*\}\}|[^"\\{]|\\.|\{(?!\{))*)"')
_BARE_QUOTE: Final = re.compile(r'(?<!\\)"')
_LONGEST: Final = 2000
"""The longest line that is searched for its quotes: searching takes quadratic time."""
_PLAIN: Final = re.compile(r"[^{\[]*?[:-] +(\{\{.*\S)\s*")
_PLAIN_IN_FLOW: Final = re.compile(r"[:,\[] *(\{\{(?:(?!\}\}).)*\}\}) *(?=[,\]}])")
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}")
_WORD: Final = re.compile(r"(?:\{\{.*?\}\}|'[^']*'|\"[^\"]*\"|[^\s'\"])+")
_NAMES: Final = re.compile(r"[\w./-]+(?:, *[\w./-]+)*")
_OPERATORS: Final = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})


def yaml_text(text: str) -> str:
    """Return text as a YAML scalar in the kind of quotes that it does not contain."""
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)


def fit_quotes(hint: str, around: str) -> str:
    """Return a hint whose pieces of code use the other kind of quotes than those ``around`` them in the document."""
    other = {'"': "'", "'": '"'}.get(around)
    if other is None:
        return hint
    return _CODE.sub(lambda code: code[0] if other in code[0] else code[0].replace(around, other), hint)


def requoted(line: str) -> str | None:
    """Return the value in a line of YAML whose template ends its double quotes, or has none, in the right quotes."""
    if len(line) > _LONGEST:
        return None
    for found in _NESTED.finditer(line):
        if any(_BARE_QUOTE.search(template) for template in _TEMPLATE.findall(found[1])):
            return yaml_text(found[1])
    plain = _PLAIN.fullmatch(line) or _PLAIN_IN_FLOW.search(line)
    return yaml_text(plain[1]) if plain else None


def listed(text: str) -> str:
    """Return text as a list in YAML: of the names it consists of, else of itself."""
    return f"[{text}]" if _NAMES.fullmatch(text) else f"[{yaml_text(text)}]"


def argv_list(command: str) -> str | None:
    """Return a command line as a list of its arguments in YAML; None when only its author can divide it.

    A command line with pipes and the like is run by a shell, which is given templates as arguments of their own.
    """
    words = _WORD.findall(command)
    if "".join(words) != "".join(command.split()) and _WORD.sub("", command).strip():
        return None
    if any(word in _OPERATORS for word in words):
        templates = _TEMPLATE.findall(command)
        if templates and ("'" in command or '"' in _TEMPLATE.sub("", command)):
            return None
        numbers = iter(range(1, len(templates) + 1))
        script = _TEMPLATE.sub(lambda _: f'"${next(numbers)}"', command)
        words = ["sh", "-c", script, *(["sh", *templates] if templates else [])]
    else:
        words = [_unquoted(word) for word in words]
    return f"[{', '.join(yaml_text(word) for word in words)}]"


def _unquoted(word: str) -> str:
    """Return an argument without the quotes that a shell would remove; those in templates stay."""
    parts = re.split(r"(\{\{.*?\}\})", word)
    return "".join(part if number % 2 else part.replace("'", "").replace('"', "") for number, part in enumerate(parts))


__all__ = ["argv_list", "fit_quotes", "listed", "requoted", "yaml_text"]
