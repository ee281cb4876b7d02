"""Regular expressions whose time is bounded, for ``matches``, asserts and extraction."""

from __future__ import annotations

import re
from functools import lru_cache

from gert_core.template.errors import TemplateError


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    if len(pattern) > 1000:
        raise TemplateError("the pattern is longer than 1,000 characters")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TemplateError(f"the pattern is not a regular expression: {error}") from None


def matches(pattern: str, text: str) -> re.Match[str] | None:
    """The first match of ``pattern`` anywhere in ``text``."""
    return _compiled(pattern).search(text)


__all__ = ["matches"]
