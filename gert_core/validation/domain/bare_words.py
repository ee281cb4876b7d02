"""Hints about conditions that are a bare word: the variable of that name, or a comparison with it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.validation.domain.environment import Environment

_FEW: Final = 64


def bare_word_hint(text: object, env: Environment) -> str | None:
    """Return how a condition that is one word, such as ``until: done``, is written where ``env`` holds."""
    word = text.strip().removeprefix(".") if isinstance(text, str) else ""
    if not re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) or word.lower() in ("true", "false", "yes", "no", "on", "off"):
        return None
    entry = env.names.get(word)
    if entry is not None and entry.shape.kind != "object":
        return f'write it as "{{{{ .{word} }}}}"'
    # The newest one is what the step itself has found out; only a few are looked at, for each of many mistakes.
    newest = islice(reversed(env.names.items()), _FEW)
    text_name = next((n for n, e in newest if isinstance(n, str) and e.shape.kind == "string" and e.holds), None)
    if text_name is None:
        return f"nothing is called `{word}` here: write true, false or a comparison"
    return f"""compare a text with it: write "{{{{ eq .{text_name} '{word}' }}}}\""""


__all__ = ["bare_word_hint"]
