"""Look for secrets that no document declares: tokens, keys and passwords that are known by their form."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.trace.reader import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_URL: Final = str.maketrans("-_", "+/")
_MASKED: Final = r"(?!<REDACTED)"
_SCHEMES: Final = r"(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)"
_WORD: Final = "[A-Za-z0-9_-]"
KINDS: Final[dict[str, re.Pattern[str]]] = {
    "private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    "AWS access key": re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])"),
    "GitHub token": re.compile(r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{22,}"),
    "Slack token": re.compile(r"xox[abprs]-[A-Za-z0-9-]{8,}"),
    "JSON Web Token": re.compile(rf"(?<!{_WORD})(?>{_WORD}*?eyJ){_WORD}{{5,}}\.eyJ{_WORD}{{5,}}\.{_WORD}*"),
    "Authorization header": re.compile(
        r"(?i)(?<![a-z])(?:proxy-)?authorization[\\\"']*\s*[:=]\s*[\\\"']*"
        rf"(?:{_SCHEMES}\s+)?{_MASKED}(?!{_SCHEMES}\b)[^\s\\\"'<{{]{{4,}}"
    ),
    "password in a URL": re.compile(rf"(?i)\b[a-z][a-z0-9+.-]{{,60}}://[^\s/:@\"'<]*:{_MASKED}[^\s/@\"'{{]+@"),
}
"""Patterns by the kind that messages name; each takes time in proportion to the text, which a tool may have written."""
_TRIGGER: Final = r"-----BEGIN |AKIA|ASIA|gh[pousr]_|github_pat_|xox[abprs]-|eyJ|(?i:authorization)|://"
_BASE64: Final = r"[A-Za-z0-9+/_-]{24,}={0,2}"
"""What may be base64 of a secret, all of them being longer than 16 characters."""
_ANY: Final = re.compile(_TRIGGER)
_ENCODED: Final = re.compile(_BASE64)
_ANY_IN_LINE: Final = re.compile(f"{_TRIGGER}|{_BASE64}".encode())
"""Texts, and lines of traces, without any of these have no secret of a known form."""


class Hit(Struct, frozen=True, kw_only=True):
    """A place with something that has the form of a secret; the value is not part of it."""

    place: str
    kind: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}"


def kinds_in(text: str) -> list[str]:
    """Return the kinds of secrets in a text, also in base64 that is in it, as in the documents of Kubernetes."""
    found = _plain_kinds(text)
    for encoded in _ENCODED.finditer(text):
        found += [kind for kind in _plain_kinds(_decoded(encoded[0])) if kind not in found]
    return found


def _plain_kinds(text: str) -> list[str]:
    if _ANY.search(text) is None:
        return []
    return [kind for kind, pattern in KINDS.items() if pattern.search(text)]


def _decoded(text: str) -> str:
    """Return what base64 stands for; empty when it is none."""
    word = text.rstrip("=").translate(_URL)
    if len(word) % 4 == 1:
        return ""
    return b64decode(word + "=" * (-len(word) % 4)).decode("latin-1")


def hits_in_trace(lines: Iterable[bytes], name: str) -> Iterator[Hit]:
    """Yield every hit in the lines of a trace, which is called ``name``; only suspicious ones are decoded."""
    for number, line in enumerate(lines, 1):
        if _ANY_IN_LINE.search(line) is not None:
            event = decode(line)
            found = {**event.data, "step_key": event.step_key or ""}
            yield from hits_in(found, f"{name}:{number}: {event.type}")


def hits_in(value: object, place: str = "") -> Iterator[Hit]:
    """Yield every hit in data, its names included; places are paths without what was found."""
    if isinstance(value, str):
        for kind in kinds_in(value):
            yield Hit(place=place, kind=kind)
    elif isinstance(value, dict):
        for key, item in value.items():
            name = str(key)
            for kind in kinds_in(name):
                yield Hit(place=f"{place} (a name)" if place else "a name", kind=kind)
            inside = f"{place}{'' if not place or place.endswith(' ') else '.'}{without_secrets(name)}"
            yield from hits_in(item, inside)
            if isinstance(item, str) and (found := _header(name, item)):
                yield Hit(place=inside, kind=found)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from hits_in(item, f"{place}[{index}]")


def without_secrets(text: str) -> str:
    """Return a text with what was found replaced by its kind."""
    for kind in _plain_kinds(text):
        text = KINDS[kind].sub(f"<{kind}>", text)
    return _ENCODED.sub(lambda found: "<base64>" if _plain_kinds(_decoded(found[0])) else found[0], text)


def _header(name: str, value: str) -> str | None:
    """Return the kind of a field that is an Authorization header by its name."""
    kind = "Authorization header"
    lower = name.lower()
    if lower not in ("authorization", "proxy-authorization") or KINDS[kind].search(value):
        return None
    return kind if KINDS[kind].search(f"{name}: {value}") else None


__all__ = ["KINDS", "Hit", "hits_in", "hits_in_trace", "kinds_in", "without_secrets"]
