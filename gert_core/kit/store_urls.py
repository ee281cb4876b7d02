"""Read the addresses of run stores: their scheme, what follows it, and the address without its password."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"
"""What is shown in place of a password."""
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.DOTALL)
_USER: Final = re.compile(
    # In front of the host; or, where it has a character that should have been encoded, up to the last ``@``.
    r"(?P<before>//[^/@:?#]*):(?:(?P<password>[^/?#]*)@(?=[^@/?#]*(?:[/?#]|\Z))|(?P<odd>.*)@(?=[^@]*\Z))",
    re.DOTALL,
)
_PARAMETER: Final = re.compile(r"(?P<name>[?&](?P<word>[^=&#?]*)=)(?P<value>[^&#]*)")
_SECRET: Final = re.compile(r".*(?:password|passfile|secret|token|_key)", re.IGNORECASE | re.DOTALL)
"""The names of parameters that are not shown, once they are decoded as the driver of a database decodes them."""
_GIVEN: Final = re.compile(
    r"(?<![\w.-])(?=[\w.-]*?(?:password|secret|token|_key))[\w.-]++=(?P<value>\S+)", re.IGNORECASE
)
"""Settings among the options of a session that are not shown; each name is read once, whatever is in front of ``=``."""


def split_url(url: str) -> tuple[str, str]:
    """Return scheme and rest of an address; raise ``ValueError`` when it has no scheme."""
    found = _SCHEME.fullmatch(url)
    if found is None:
        raise ValueError("it has no scheme; write it as file:PATH, or as the store's plugin says")
    return found[1], found[2]


def without_password(url: str) -> str:
    """Return an address as it may be shown: a password in front of the host or in a parameter is left out."""
    before, at, behind = url.rpartition("@")  # without one, each ``//`` would be followed to the end in vain
    return _PARAMETER.sub(_hidden, _USER.sub(r"\g<before>@", before + at) + behind)


def passwords_of(url: str) -> tuple[str, ...]:
    """Return the passwords in an address, as they are meant: what is percent-encoded there is decoded."""
    if not has_password(url):
        return ()
    from urllib.parse import unquote

    before = _USER.search(url[: url.rfind("@") + 1])
    found = [before["password"] or before["odd"]] if before is not None else []
    found += [given["value"] for given in _PARAMETER.finditer(url) if _is_secret(given["word"])]
    found += [one for given in _PARAMETER.finditer(url) if _gives_secret(given) for one in _words_of(given["value"])]
    return tuple(unquote(text) for text in found if text)


def has_password(url: str) -> bool:
    """Return whether an address has a password in it."""
    return without_password(url) != url


def _hidden(found: re.Match[str]) -> str:
    return f"{found['name']}{HIDDEN}" if _is_secret(found["word"]) or _gives_secret(found) else found[0]


def _is_secret(word: str) -> bool:
    from urllib.parse import unquote

    return _SECRET.fullmatch(unquote(word)) is not None


def _gives_secret(found: re.Match[str]) -> bool:
    """Return whether the options of a session give a setting a value that is not shown: ``-c x.password=...``."""
    from urllib.parse import unquote

    return unquote(found["word"]) == "options" and _GIVEN.search(unquote(found["value"])) is not None


def _words_of(value: str) -> list[str]:
    """Return the values in the options of a session that are not shown."""
    from urllib.parse import unquote

    return [given["value"] for given in _GIVEN.finditer(unquote(value))]


__all__ = ["HIDDEN", "has_password", "passwords_of", "split_url", "without_password"]
