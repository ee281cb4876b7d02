"""The forms in which the value of a secret appears in texts: quoted, encoded, wrapped."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MINIMUM: Final = 4
"""The least length of a value that can be masked."""
LINE_MINIMUM: Final = 8
"""The least length of a line of a value of several lines that is masked by itself."""
WRAP_MINIMUM: Final = 16
"""The least length of an encoded form that is also found when it is wrapped over several lines."""
_WORDS: Final = r"[A-Za-z0-9]{6,}"
_NOT_TEXT: Final = "[\udc80-\udcff]"
"""Bytes of the environment that are not UTF-8, as Python keeps them in texts."""
_ESCAPE: Final = r"((?<!\\)(?:\\\\)*\\u)([0-9a-f]{4})"
_COMPONENT: Final = "!*'()"
"""What JavaScript's encodeURIComponent leaves as it is, beside letters, digits and ``-_.~``."""
_BASH: Final = r"""((?:^|(?<=[:=]))~|^#|[\s|&;()<>!{}*\[\]?^$`'"\\,])"""
"""What ``printf %q`` of bash escapes."""
_SHELL_SAFE: Final = r"([^A-Za-z0-9_./@%+=:,\-])"


def forms(value: str) -> Iterator[tuple[str, str]]:
    """Yield every form of a value with the form's name; equal texts keep the first name."""
    yield from _forms(value)
    if re.search(_NOT_TEXT, value):
        # The bytes of the environment need not be text; what decodes them has a mark in place of the others.
        data = value.encode("utf-8", "surrogateescape")
        for kind, text in (
            ("text", data.decode("utf-8", "replace")),
            ("text-each", re.sub(_NOT_TEXT, "\ufffd", value)),
        ):
            for form, shown in _forms(text):
                yield f"{kind}-{form}" if form else kind, shown


def _forms(value: str) -> Iterator[tuple[str, str]]:
    yield "", value
    bare = value.strip()
    yield "strip", bare
    if bare != value and len(bare) >= MINIMUM:
        # A shell drops the newline of "$(cat token)", programs the blanks around a header: then it is encoded.
        for each in (_json_forms, _url_forms, _quoted_forms, encoded_forms):
            yield from ((f"strip-{form}", shown) for form, shown in each(bare))
    yield from _json_forms(value)
    yield from _url_forms(value)
    yield from _quoted_forms(value)
    yield from encoded_forms(value)
    lines = value.splitlines()
    if len(lines) > 1:
        for number, line in enumerate(lines, 1):
            if len(line.strip()) >= LINE_MINIMUM:
                yield f"line{number}", line.strip()


def _json_forms(value: str) -> Iterator[tuple[str, str]]:
    for text, form in ((json.dumps(value)[1:-1], "json"), (encode_basestring(value)[1:-1], "json-utf8")):
        yield form, text
        yield f"{form}-slash", text.replace("/", "\\/")
        yield f"{form}-twice", encode_basestring(text)[1:-1]
        escaped = {
            form: text,
            # Go and Rails, Gson, System.Text.Json: what HTML could take for its own is escaped too.
            f"{form}-html": _escape(text, "&<>\u2028\u2029"),
            f"{form}-quotes": _escape(text, "&<>='\u2028\u2029"),
            f"{form}-strict": _escape(text.replace('\\"', "\\u0022"), "&<>'+`\x7f\u2028\u2029"),
        }
        for name, shown in escaped.items():
            upper = re.sub(_ESCAPE, lambda match: match[1] + match[2].upper(), shown)
            yield name, shown
            yield f"{name}-twice", encode_basestring(shown)[1:-1]
            yield f"{name}-upper", upper
            yield f"{name}-upper-twice", encode_basestring(upper)[1:-1]


def _escape(text: str, characters: str) -> str:
    """Return ``text`` with these characters as JSON escapes of four digits."""
    return text.translate({ord(one): f"\\u{ord(one):04x}" for one in characters})


def _url_forms(value: str) -> Iterator[tuple[str, str]]:
    from urllib.parse import quote, quote_plus

    data = value.encode("utf-8", "surrogateescape")
    urls = {
        "url": quote(data, safe=""),
        "url-path": quote(data),
        "url-plus": quote_plus(data),
        "url-all": "".join(f"%{byte:02X}" for byte in data),
        "url-component": quote(data, safe=_COMPONENT),
        "url-whole": quote(data, safe=f"{_COMPONENT};,/?:@&=+$#"),
        "url-segment": quote(data, safe="$&+=:@"),
        "url-form": quote_plus(data, safe="*").replace("~", "%7E"),
        "url-form-strict": quote_plus(data).replace("~", "%7E"),
    }
    for form, text in urls.items():
        lower = re.sub(r"%..", lambda match: match.group().lower(), text)
        yield form, text
        yield f"{form}-lower", lower
        yield f"{form}-twice", text.replace("%", "%25")
        yield f"{form}-lower-twice", lower.replace("%", "%25")
        if "+" in text:
            yield f"{form}-twice-plus", text.replace("%", "%25").replace("+", "%2B")


def _quoted_forms(value: str) -> Iterator[tuple[str, str]]:
    """Yield the value as shells, Python and HTML quote it, without the quotes around it."""
    from html import escape

    yield "shell", value.replace("'", "'\"'\"'")
    yield "shell-quote", value.replace("'", "'\\''")
    yield "shell-double", re.sub(r'([\\"$`])', r"\\\1", value)
    yield "shell-words", re.sub(_SHELL_SAFE, r"\\\1", value)
    yield "shell-bash", re.sub(_BASH, r"\\\1", value)
    python = {"repr": repr(value)[1:-1], "repr-single": repr(value + '"')[1:-2]}
    python |= {"ascii": ascii(value)[1:-1], "ascii-single": ascii(value + '"')[1:-2]}
    python |= {"repr-bytes": repr(value.encode("utf-8", "surrogateescape"))[2:-1]}
    for form, text in python.items():
        yield form, text
        yield f"{form}-twice", repr(text)[1:-1]
        yield f"{form}-twice-single", repr(text + "\"'")[1:-4]
    yield from _entities(value)
    yield "html", escape(value)
    yield "html-text", escape(value, quote=False)
    yield "html-decimal", escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield "html-double", escape(value, quote=False).replace('"', "&quot;")
    yield "html-apos", escape(value).replace("&#x27;", "&apos;")
    yield "html-mixed", escape(value).replace("&#x27;", "&#39;")
    yield "html-padded", escape(value).replace("&#x27;", "&#039;")


def _entities(value: str) -> Iterator[tuple[str, str]]:
    """Yield the value as entities of HTML: of what is not ASCII, of what has a name, and of every character."""
    from html import escape
    from html.entities import codepoint2name

    for form, spelled in (("decimal", "&#{};"), ("hex", "&#x{:x};"), ("hex-upper", "&#x{:X};")):
        each = [spelled.format(ord(one)) for one in value]
        yield f"html-all-{form}", "".join(each)
        pairs = list(zip(value, each, strict=True))
        yield f"html-ascii-{form}", "".join(escape(one) if one.isascii() else entity for one, entity in pairs)
        yield f"html-signs-{form}", "".join(one if one.isalnum() and one.isascii() else entity for one, entity in pairs)
    yield "html-all-padded", "".join(f"&#{ord(one):03};" for one in value)
    yield "html-all-capital", "".join(f"&#X{ord(one):x};" for one in value)
    yield "html-all-capital-upper", "".join(f"&#X{ord(one):X};" for one in value)
    named = (f"&{codepoint2name[ord(one)]};" if ord(one) in codepoint2name else one for one in value)
    yield "html-named", "".join(named)


def encoded_forms(value: str) -> Iterator[tuple[str, str]]:
    """Yield the forms that encoders wrap over several lines: base64 and base32 at any alignment, and hexadecimal."""
    from base64 import b32encode, b64encode

    data = value.encode("utf-8", "surrogateescape")
    for form, alphabet in (("b64", None), ("b64url", b"-_")):
        whole = b64encode(data, alphabet).decode()
        yield form, whole
        yield f"{form}-raw", whole.rstrip("=")
        for offset in range(3):
            # Inside longer data the characters at both ends include other bits: keep the certain ones.
            text = b64encode(bytes(offset) + data, alphabet).decode()
            yield f"{form}-at{offset}", text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]
    whole = b32encode(data).decode()
    yield "b32", whole
    yield "b32-raw", whole.rstrip("=")
    yield "b32-lower", whole.rstrip("=").lower()
    for offset in range(5):
        text = b32encode(bytes(offset) + data).decode()[-(-offset * 8 // 5) : (offset + len(data)) * 8 // 5]
        yield f"b32-at{offset}", text
    yield "hex", data.hex()
    yield "hex-upper", data.hex().upper()
    for form, shown in (("hex", data.hex(" ")), ("hex-upper", data.hex(" ").upper())):
        yield f"{form}-spaced", shown
        yield f"{form}-colons", shown.replace(" ", ":")
    # What xxd shows: two bytes together, and the first of them may end a group.
    for form, shown in (
        ("hex-words", data.hex(" ", -2)),
        ("hex-words-odd", f"{data[:1].hex()} {data[1:].hex(' ', -2)}"),
    ):
        yield form, shown
        yield f"{form}-upper", shown.upper()
    yield from _wide_forms(value)


def _wide_forms(value: str) -> Iterator[tuple[str, str]]:
    """Yield the value in UTF-16 as text, and in base64 at any alignment."""
    from base64 import b64encode

    little, big = (value.encode(order, "surrogatepass") for order in ("utf-16-le", "utf-16-be"))
    if value.isascii():
        # Both orders have the same bytes but for the zero at one end.
        wide = [("utf16", little[:-1])]
        yield "utf16", little[:-1].decode()
    else:
        wide = [("utf16", little), ("utf16-be", big)]
    for form, data in wide:
        for offset in range(3):
            text = b64encode(bytes(offset) + data).decode()
            yield f"{form}-b64-at{offset}", text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]


def triggers(value: str, shown: str) -> str:
    """Return a text that is in a form of a value and that other forms have too, to look for it first."""
    if shown.startswith("&#"):
        return "&#"
    if "\0" in shown and "\0" not in value:
        return "\0"
    return "%25" if "%25" in shown and "%25" not in value else shown


def wrap_label(sizes: Sequence[int], returns: Sequence[bool]) -> str:
    """Return how a form is wrapped: sizes of lines, and whether these end with LF, CRLF or some of them (``r``) so."""
    if all(returns) or not any(returns):
        return ("crlf" if returns[0] else "lf") + "-".join(map(str, sizes))
    return "mixed" + "-".join(f"{size}r" if cut else f"{size}" for size, cut in zip(sizes, returns, strict=True))


def wrapped(text: str, newlines: str, sizes: Sequence[str]) -> str:
    """Return ``text`` wrapped as a label says; the rest follows the last newline."""
    parts = []
    start = 0
    for size in sizes:
        end = start + int(size.rstrip("r"))
        parts.append(text[start:end] + ("\r\n" if newlines == "crlf" or size.endswith("r") else "\n"))
        start = end
    return "".join((*parts, text[start:]))


def longest_word(value: str) -> str:
    """Return the longest run of letters and digits of a value, which whatever quotes it leaves as it is."""
    return max(re.findall(_WORDS, value), key=len, default="")


__all__ = [
    "LINE_MINIMUM",
    "MINIMUM",
    "WRAP_MINIMUM",
    "encoded_forms",
    "forms",
    "longest_word",
    "triggers",
    "wrap_label",
    "wrapped",
]
