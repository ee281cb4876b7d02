"""Explain a YAML parser's errors: where they are, and which mistake is likely."""

from __future__ import annotations

import re
from typing import Final

from gert_core.documents.compose import HALF, WHOLE

BREAKS: Final = "\r\n|[\n\r\x85\u2028\u2029]"
_TEMPLATE: Final = r"[:-] +\{\{"
_ASSIGNMENT: Final = r"\s*(?:- +)*([A-Za-z_][\w-]*) *= *\S"
_SURROGATE: Final = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_CURLY_QUOTES: Final = "[\u201c\u201d\u2018\u2019]"
_NO_BREAK_SPACE: Final = "\xa0"


def explain(error: Exception, text: str) -> tuple[str, int, int, str | None]:
    """Return the message, line and column of a parser's error, and a hint derived from the text at that place."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
    context = getattr(error, "context", None)
    began = getattr(error, "context_mark", None)
    from gert_core.template.quoting import requoted  # only mistakes need it

    lines = re.split(BREAKS, text)
    source = lines[line - 1] if line <= len(lines) else ""
    half = re.match(_SURROGATE, source[max(column - 3, 0) :])
    if half is not None and "escape" in problem:
        return f"{HALF}: {half[0]}", line, column - 2, WHOLE
    before = next((above for above in reversed(lines[: line - 1]) if above.strip()), "")
    opened = began.line + 1 if began else line
    inside = requoted(lines[opened - 1]) if opened < line and "quoted scalar" in f"{context}" else None
    right = requoted(source)
    hint = _hint_from_line(source, before, column - 1, right) or (
        f"the quotes in line {opened} end too early: write {inside}"
        if inside is not None
        else _hint_from_parser(f"{problem}", f"{context}", behind=source[: column - 1], opened=opened)
    )
    reason = f"{context}: {problem}" if context else problem
    return f"invalid YAML: {reason}", line, column, hint


def _hint_from_line(source: str, before: str, at: int, right: str | None) -> str | None:
    """Return a hint derived from the line itself, whatever the parser reports; ``right`` is its value in quotes."""
    char = source[at : at + 1]
    if "\t" in source[: len(source) - len(source.lstrip())] or char == "\t":
        return "indent with spaces; YAML does not allow tabs there"
    if right is not None:
        return f"the quotes end too early, or are missing: write {right}"
    if re.search(_TEMPLATE, source):
        return 'quote a value that begins with a template: "{{ ... }}"'
    if source.startswith("{{", at):
        return 'quote a text that has a template in it: "... {{ ... }}"'
    if char in ("@", "`", "%"):
        return f"quote a string that begins with {char}"
    if _NO_BREAK_SPACE in source or _NO_BREAK_SPACE in before:
        return "there is a no-break space (U+00A0) near here; replace it with an ordinary space"
    if re.search(_CURLY_QUOTES, source):
        return "there are curly quotes in this line; replace them with straight quotes"
    assignment = re.match(_ASSIGNMENT, source) or re.match(_ASSIGNMENT, before)
    if assignment and ":" not in assignment[0]:
        return f"write `{assignment[1]}: value` instead of `{assignment[1]} = value`"
    return None


def _hint_from_parser(problem: str, context: str, *, behind: str, opened: int) -> str | None:
    """Return a hint derived from what the parser expected; ``behind`` is the line up to the error."""
    if "escape character" in problem:
        return "double the backslash, or use single quotes"
    if "expected key" in problem and behind.rstrip()[-1:] in ('"', "'"):
        return "the quotes end before this place: put the whole value in quotes, and use the other kind inside"
    if "mapping values are not allowed" in problem:
        return "quote a string that contains `: `, and check the indentation"
    if "quoted scalar" in context:
        return f"close the quotes that open in line {opened}"
    if "expected <block end>" in problem or "block" in context:
        return "check the indentation of this line and of the lines before it"
    if "',' or" in problem or "flow" in context:
        return f"close the brackets that open in line {opened}, and separate items by commas"
    if "expected ':'" in problem:
        return f"line {opened} has no `: ` after its name; or it continues the text above and must be indented"
    return None


__all__ = ["BREAKS", "explain"]
