"""Search with regular expressions by RE2, in time linear in the text, whatever the pattern.

Patterns are written as for Python's ``re``. What has no linear-time search (look-around, back-references and the like)
is refused with the rule ``pattern-unsupported``; the few spellings that differ are translated.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from gert_core.kit.excerpts import part
from gert_core.template.data import too_large
from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Protocol

    class _Found(Protocol):
        @property
        def endpos(self) -> int: ...
        def __getitem__(self, group: int, /) -> bytes | None: ...
        def groups(self) -> tuple[bytes | None, ...]: ...
        def start(self) -> int: ...
        def end(self) -> int: ...

    class _Regexp(Protocol):
        @property
        def programsize(self) -> int: ...
        @property
        def groups(self) -> int: ...
        @property
        def groupindex(self) -> Mapping[str, int]: ...
        @property
        def pattern(self) -> str: ...
        def search(self, text: bytes, /) -> _Found | None: ...
        def fullmatch(self, text: bytes, /) -> _Found | None: ...
        def finditer(self, text: bytes, /) -> Iterator[_Found]: ...

    class _Options(Protocol):
        log_errors: bool
        max_mem: int

    class _Engine(Protocol):
        """What is used of the module ``re2``, which has no type hints."""

        error: type[Exception]
        Options: Callable[[], _Options]

        def compile(self, pattern: str, options: _Options) -> _Regexp: ...


PATTERN_UNSUPPORTED: Final = "pattern-unsupported"
MAX_PATTERN: Final = 1000
_MAX_MEMORY: Final = 2 * 1024 * 1024
"""Bytes for one compiled pattern and its search."""
_SMALL: Final = 64
"""A program of so many instructions may search any text that gert holds (10 MiB)."""
_MAX_WORK: Final = 100_000_000
"""Instructions times bytes that a search with a larger program may take: at worst about a second."""
_END: Final = r"(?:$|\n\z)"
"""``$`` as in ``re``: RE2's own, or before the last newline (which it then takes, having no look-ahead)."""
_SHOWN: Final = 40

_SYNTAX: Final = r"""
      (?P<around>\(\?<?[=!])
    | (?P<back>\\(?![0-7]{3})[1-9gk]|\(\?P=)
    | (?P<atomic>\(\?>|(?:[*+?]|\{(?:\d+,?\d*|,\d*)\})\+)
    | (?P<conditional>\(\?\()
    | (?P<recursion>\(\?(?:R|&|P>|[-+]?\d))
    | (?P<comment>\(\?\#)
    | (?P<flag>\(\?[imsU-]*[aLux][a-zA-Z-]*[:)])
    | (?P<escape>\\(?:[xpP]\{[^}]*\}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.))
    | (?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+\])
    | (?P<upto>\{,\d*\})
    | (?P<dollar>\$)
"""
"""What is refused or spelt differently, and escapes and sets, so that nothing inside them is taken for that."""
_SPECIAL: Final = frozenset("\\([{$+")
"""What each of these has in it; a pattern without is the same for RE2."""
_ESCAPE: Final = r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"
_UNSUPPORTED: Final = {
    "around": (
        "look-around",
        "match what stands around it too and take the part you need as a group, `key=(.*);`, or make two checks of it",
    ),
    "back": ("a back-reference", "write the repeated part out, or take both parts as values and compare them"),
    "atomic": ("an atomic group or possessive repetition", "write `(?:...)` or `+`: every search is linear here"),
    "conditional": ("a conditional", "write the cases as alternatives, `(?:...|...)`"),
    "recursion": ("recursion", "write out as many levels as there can be"),
    "comment": ("a comment", "write the comment outside of the pattern"),
    "flag": ("a flag", "the flags are i, m, s and U; classes such as `\\w` are ASCII already"),
}


class Match:
    """A match of a pattern in a text."""

    __slots__ = ("_ends", "_found")

    def __init__(self, found: _Found, *, ends: bool) -> None:
        self._found = found
        self._ends = ends

    @property
    def text(self) -> str:
        """The whole match."""
        found = self._found
        whole = found[0] or b""
        if self._ends and found.end() == found.endpos:
            whole = whole.removesuffix(b"\n")
        return whole.decode()

    @property
    def groups(self) -> tuple[str | None, ...]:
        """The texts of the groups; None for one that took no part."""
        return tuple(None if group is None else group.decode() for group in self._found.groups())

    @property
    def part(self) -> str:
        """What the pattern is written for: its first group, or the whole match when that took no part."""
        first = next(iter(self.groups), None)
        return self.text if first is None else first


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that is malformed, too large or unsupported; nothing is searched."""
    _compile(pattern)


def matches(pattern: str, text: str) -> Match | None:
    """Return the first match of ``pattern`` anywhere in ``text``."""
    regexp, data, ends = _ready(pattern, text)
    found = regexp.search(data)
    return None if found is None else Match(found, ends=ends)


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` matches the whole of ``text``."""
    regexp, data, ends = _ready(pattern, text)
    if ends and data.endswith(b"\n"):  # here ``$`` must not take the newline
        engine, options = _engine()
        regexp = engine.compile(regexp.pattern.replace(_END, "$"), options)
    return regexp.fullmatch(data) is not None


def replaced(pattern: str, new: str, text: str, *, most: int, largest: int) -> str:
    """Return ``text`` with every match replaced.

    ``$1``, ``${1}`` and ``${name}`` in ``new`` are groups, ``$$`` is a dollar sign.
    At most ``most`` matches are replaced, and the result has at most ``largest`` characters; else it raises.
    """
    regexp, data, ends = _ready(pattern, text)
    parts = _replacement(regexp, new)
    out: list[str] = []
    size = at = 0
    for count, found in enumerate(regexp.finditer(data)):
        if count == most:
            raise TemplateError(f"`regexReplace` replaces at most {most:,} matches")
        match = Match(found, ends=ends)
        groups = (match.text, *match.groups)
        before = data[at : found.start()].decode()
        now = "".join(part if isinstance(part, str) else groups[part] or "" for part in parts)
        size += len(before) + len(now)
        if size > largest:
            raise too_large()
        out += [before, now]
        at = found.start() + len(match.text.encode())
    rest = data[at:].decode()
    if size + len(rest) > largest:
        raise too_large()
    return "".join([*out, rest])


def _replacement(regexp: _Regexp, new: str) -> list[str | int]:
    """Return a replacement as texts and the numbers of groups."""
    out: list[str | int] = []
    at = 0
    groups = regexp.groups
    for found in re.finditer(r"\$(?:(\$)|(\d{1,3})|\{(\d{1,3})\}|\{(\w+)\})?", new):
        out.append(new[at : found.start()])
        at = found.end()
        dollar, number, braced, name = found.groups()
        if dollar:
            out.append("$")
            continue
        place = int(number or braced) if number or braced else regexp.groupindex.get(name or "", -1)
        if not 0 <= place <= groups:
            what = f"the pattern has no group for `{found[0]}`" if found[0] != "$" else "a group must follow `$`"
            raise TemplateError(what, hint="write `$$` for a dollar sign, `$1` or `${name}` for a group")
        out.append(place)
    return [*out, new[at:]]


def _ready(pattern: str, text: str) -> tuple[_Regexp, bytes, bool]:
    """Return a compiled pattern, the text to search, and whether it has a ``$``; raise when that takes too long."""
    regexp, size, ends = _compile(pattern)
    data = _encode(text)
    if size > _SMALL and size * len(data) > _MAX_WORK:
        raise TemplateError(
            f"the pattern is too large for a text of {len(text):,} characters",
            hint="search a smaller text, or write the pattern with smaller repetitions and classes",
        )
    return regexp, data, ends


@lru_cache(maxsize=128)
def _compile(pattern: str) -> tuple[_Regexp, int, bool]:
    """Return a pattern ready to search, its size in instructions, and whether it has a ``$``."""
    if len(pattern) > MAX_PATTERN:
        raise TemplateError(f"the pattern is longer than {MAX_PATTERN:,} characters")
    # Compiled here and kept by ``re``: most commands search nothing.
    translated = _encode(pattern).decode()
    if not _SPECIAL.isdisjoint(pattern):
        translated = re.sub(_SYNTAX, _translate, translated, flags=re.VERBOSE | re.DOTALL)
    engine, options = _engine()
    try:
        regexp = engine.compile(translated, options)
    except engine.error as error:
        raise TemplateError(f"the pattern {_reason(error, pattern)}") from None
    return regexp, regexp.programsize, _END in translated


@cache
def _engine() -> tuple[_Engine, _Options]:
    """Import RE2 on first use, and set it up: quiet, and bounded in memory."""
    import re2  # type: ignore[import-untyped]

    engine: _Engine = re2
    options = engine.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return engine, options


def _translate(token: re.Match[str]) -> str:
    """Return a token as RE2 spells it, or refuse it."""
    kind, text = str(token.lastgroup), token[0]
    if kind in _UNSUPPORTED:
        what, hint = _UNSUPPORTED[kind]
        message = f"the pattern has {what} (`{text}` at character {token.start() + 1}), which is not supported"
        raise TemplateError(message, hint=hint, rule=PATTERN_UNSUPPORTED)
    if kind == "dollar":
        return _END
    if kind == "upto":
        return f"{{0{text[1:]}"
    if kind == "set":
        return re.sub(_ESCAPE, lambda escape: _escape(escape[0], inside=True), text, flags=re.DOTALL)
    return _escape(text)


def _escape(text: str, *, inside: bool = False) -> str:
    letter = text[1]
    if letter in "uU" and len(text) > 2:
        return f"\\x{{{text[2:]}}}"
    if letter == "Z" and not inside:
        return "\\z"
    if letter in "CQE":  # RE2 reads half a character for \C, and everything as literal between \Q and \E
        raise TemplateError(f"the pattern is not a valid regular expression: invalid escape sequence at `{text}`")
    return text


def _reason(error: Exception, pattern: str) -> str:
    """Return what RE2 says about a pattern, as the end of a sentence that begins with the pattern."""
    said = error.args[0] if error.args else ""
    words = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    what, _, where = words.replace(_END, "$").partition(": ")
    if what.startswith("pattern too large"):
        return "is too large: write smaller repetitions and classes"
    if what == "invalid repetition size":
        return f"has a repetition of more than 1,000, or from more to less: `{where}`"
    at = pattern.find(where)  # the text is RE2's; a secret in the pattern is found in the pattern only
    more = "..." if len(where) > _SHOWN else ""
    shown = part(pattern, at, at + min(len(where), _SHOWN)) + more if at >= 0 else ""
    return f"is not a valid regular expression: {what}{f' at `{shown}`' if shown else ''}"


def _encode(text: str) -> bytes:
    """Return the text in UTF-8, with halves of surrogate pairs, which it cannot hold, as replacement characters."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


__all__ = ["PATTERN_UNSUPPORTED", "Match", "check_pattern", "matches", "matches_whole", "replaced"]
