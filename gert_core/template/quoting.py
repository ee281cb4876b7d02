"""Spell values in hints so that they are valid YAML where they are meant to be written."""

from __future__ import annotations

import json
import re
from typing import Final

_CODE: Final = r"`[^`]*`|(?<!['\"])\{\{.*?\}\}(?!['\"])"
_NESTED: Final = r'"((?:\{\{(?:(?!\}\}).)*\}\}|[^"\\{]|\\.|\{(?!\{))*)"'
_BARE_QUOTE: Final = r'(?<!\\)"'
_LONGEST: Final = 2000
"""The longest line or hint that is searched for its quotes: searching takes quadratic time."""
_PLAIN: Final = r"[^{\[]*?[:-] +(\{\{.*\S)\s*"
_PLAIN_IN_FLOW: Final = r"[:,\[] *(\{\{(?:(?!\}\}).)*\}\}) *(?=[,\]}])"
_TEMPLATE: Final = r"\{\{.*?\}\}"
_WORD: Final = r"(?:\{\{.*?\}\}|'[^']*'|\"[^\"]*\"|[^\s'\"])+"
_NAMES: Final = r"[\w./-]+(?:, *[\w./-]+)*"
_OPERATORS: Final = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})


def yaml_text(text: str) -> str:
    """Return text as a YAML scalar in the kind of quotes that it does not contain."""
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)


def fit_quotes(hint: str, around: str) -> str:
    """Return a hint whose pieces of code use the other kind of quotes than those ``around`` them in the document."""
    other = {'"': "'", "'": '"'}.get(around)
    if other is None or len(hint) > _LONGEST:
        return hint
    return re.sub(_CODE, lambda code: code[0] if other in code[0] else code[0].replace(around, other), hint)


def requoted(line: str) -> str | None:
    """Return the value in a line of YAML whose template ends its double quotes, or has none, in the right quotes."""
    if len(line) > _LONGEST:
        return None
    for found in re.finditer(_NESTED, line):
        if any(re.search(_BARE_QUOTE, template) for template in re.findall(_TEMPLATE, found[1])):
            return yaml_text(found[1])
    plain = re.fullmatch(_PLAIN, line) or re.search(_PLAIN_IN_FLOW, line)
    return yaml_text(plain[1]) if plain else None


def listed(text: str) -> str:
    """Return text as a list in YAML: of the names it consists of, else of itself."""
    return f"[{text}]" if re.fullmatch(_NAMES, text) else f"[{yaml_text(text)}]"


def argv_list(command: str) -> str | None:
    """Return a command line as a list of its arguments in YAML; None when only its author can divide it.

    A command line with pipes and the like is run by a shell, which is given templates as arguments of their own.
    """
    words = re.findall(_WORD, command)
    if "".join(words) != "".join(command.split()) and re.sub(_WORD, "", command).strip():
        return None
    if any(word in _OPERATORS for word in words):
        templates = re.findall(_TEMPLATE, command)
        if templates and ("'" in command or '"' in re.sub(_TEMPLATE, "", command)):
            return None
        numbers = iter(range(1, len(templates) + 1))
        script = re.sub(_TEMPLATE, lambda _: f'"${next(numbers)}"', command)
        words = ["sh", "-c", script, *(["sh", *templates] if templates else [])]
    else:
        words = [_unquoted(word) for word in words]
    return f"[{', '.join(yaml_text(word) for word in words)}]"


def _unquoted(word: str) -> str:
    """Return an argument without the quotes that a shell would remove; those in templates stay."""
    parts = re.split(r"(\{\{.*?\}\})", word)
    return "".join(part if number % 2 else part.replace("'", "").replace('"', "") for number, part in enumerate(parts))


__all__ = ["argv_list", "fit_quotes", "listed", "requoted", "yaml_text"]
