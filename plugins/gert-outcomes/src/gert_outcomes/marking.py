"""Make text from elsewhere safe in HTML: nothing in it is markup, and every character can be seen."""

from __future__ import annotations

from html import escape as escape_markup

from gert_core.kit.escaping import escape


def marked(text: str) -> str:
    """Return a text for an element or an attribute."""
    return escape_markup(escape(text.encode("utf-8", "replace").decode()), quote=True)


__all__ = ["marked"]
