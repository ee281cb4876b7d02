"""Hints about conditions that are a bare word: the variable of that name, or a comparison with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.validation.domain.environment import Environment


def bare_word_hint(text: object, env: Environment) -> str | None:
    """Return how a condition that is one word, such as ``until: done``, is written where ``env`` holds."""
    word = text.strip().removeprefix(".") if isinstance(text, str) else ""
    if not re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) or word.lower() in ("true", "false", "yes", "no", "on", "off"):
        return None
    entry = env.names.get(word)
    if entry is not None and entry.shape.kind != "object":
        return f'write it as "{{{{ .{word} }}}}"'
    texts = [name for name in env.variable_names() if env.names[name].shape.kind == "string" and env.names[name].holds]
    if not texts:
        return f"nothing is called `{word}` here: write true, false or a comparison"
    # The newest one is what the step itself has found out.
    return f"""compare a text with it: write "{{{{ eq .{texts[-1]} '{word}' }}}}\""""


__all__ = ["bare_word_hint"]
