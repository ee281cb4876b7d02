"""Make pages of templates: nothing in a value is markup, and every character of it can be seen."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as escape_markup

from gert_core.kit.display import readable_key, readable_time, value_lines
from gert_core.kit.escaping import escape
from gert_core.kit.time_spans import duration_text, recorded_seconds
from gert_core.kit.times import parse_time

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
_LINES: Final = 200
"""How many lines of one value a page shows."""
_LONGEST: Final = 100_000
"""How many characters of one value a page shows."""
_WORDS: Final = {
    "approval_pending": "waits for approval",
    "answer_pending": "waits for an answer",
    "no_action": "no action",
    "needs_rca": "needs root cause",
}


def environment() -> Environment:
    """Return what templates are rendered with."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters |= {
        "lines": lines,
        "when": when,
        "clock": clock,
        "key": readable_key,
        "command": command,
        "took": took,
        "words": words,
        "inline": inline,
    }
    return found


def _seen(value: object) -> object:
    """Spell out what cannot be seen in a value; ``Markup`` was made here."""
    if isinstance(value, Markup) or value is None:
        return "" if value is None else value
    return escape(str(value).encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"))


def command(words: object) -> str:
    """Return words as they are typed in a shell; anything else as it is."""
    if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
        return shlex.join(words)
    return inline(words)


def lines(value: object) -> Markup:
    """Return a value for ``<pre>``: its lines stay lines, and one that is very long is cut, which is said."""
    found = value_lines(value)
    text = "\n".join(found[:_LINES])
    more = len(found) - _LINES
    cut = more > 0 or len(text) > _LONGEST
    shown = escape_markup(escape(text[:_LONGEST], keep="\n"))
    if not cut:
        return shown
    whole = len(value) if isinstance(value, str) else len(json.dumps(value, default=str))
    note = escape_markup(f"… cut: {whole} characters in all")
    return shown + Markup('\n<span class="faint">') + note + Markup("</span>")


def inline(value: object) -> str:
    """Return a value on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def when(text: object, *, clock: bool = True) -> Markup | str:
    """Return a time as people say it, with the exact one for those who point at it."""
    if not text:
        return ""
    stamp = str(text)
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(
        _seen(stamp), _seen(readable_time(stamp, clock=clock))
    )


def clock(text: object) -> Markup | str:
    """Return the day and the time of a moment by the clock here, to the second."""
    try:
        moment = parse_time(str(text)).astimezone()
    except ValueError:
        return str(text)
    return Markup('<time datetime="{0}">{1}</time>').format(_seen(str(text)), f"{moment:%Y-%m-%d %H:%M:%S}")


def took(text: object) -> str:
    """Return a duration as a trace has it in the words of people."""
    seconds = recorded_seconds(text)
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.2f}s"
    return duration_text(round(seconds))


def words(name: object) -> str:
    """Return the name of a status as words."""
    return _WORDS.get(str(name), str(name).replace("_", " "))


__all__ = ["STATIC", "environment", "inline", "lines", "took", "when", "words"]
