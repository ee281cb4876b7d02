"""Keys of signatures: how they are written, which variable has which, and the algorithm each is for."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT_ALGORITHM: Final = "hmac-sha256"
"""The algorithm of a key that names none, and whose ``*_ALG`` variable is not set: keys of 0.1 are written so."""
SHARED_MINIMUM: Final = 16
"""The least length of a shared key, in bytes."""
_ID: Final = r"[A-Za-z0-9._-]{1,64}"
_WRITTEN: Final = r"(?s)([a-z][a-z0-9-]*):(.*)"
_TAKEN: Final = r"(?:.*_)?(?:ID|ALG)"


class UnusableKeyError(ValueError):
    """A key or key id that cannot be used; the message never shows the key."""


class KeyVariables(Struct, frozen=True, kw_only=True):
    """The variables of the keys for one use."""

    signing_key: str
    signing_key_id: str
    signing_alg: str
    verify_key: str
    verify_alg: str


TRACE: Final = KeyVariables(
    signing_key="GERT_TRACE_SIGNING_KEY",
    signing_key_id="GERT_TRACE_SIGNING_KEY_ID",
    signing_alg="GERT_TRACE_SIGNING_ALG",
    verify_key="GERT_TRACE_VERIFY_KEY",
    verify_alg="GERT_TRACE_VERIFY_ALG",
)
APPROVAL: Final = KeyVariables(
    signing_key="GERT_APPROVAL_SIGNING_KEY",
    signing_key_id="GERT_APPROVAL_SIGNING_KEY_ID",
    signing_alg="GERT_APPROVAL_SIGNING_ALG",
    verify_key="GERT_APPROVAL_VERIFY_KEY",
    verify_alg="GERT_APPROVAL_VERIFY_ALG",
)


class Key(Struct, frozen=True, kw_only=True):
    """A key with the algorithm it is for; ``name`` is where it stands, a variable or a place in a policy.

    ``named`` tells whether the algorithm was written, with the key or in its variable; otherwise it is assumed.
    """

    algorithm: str
    data: bytes
    name: str
    named: bool

    def refusal(self, algorithm: str) -> str | None:
        """Return why this key does not verify a signature of ``algorithm``, or None when it may.

        A key is used for its own algorithm only: everybody knows a public key, and could sign with it as a shared one.
        """
        if self.algorithm == algorithm:
            return None
        if not self.named:
            return f"the key names no algorithm: write {self.name} as {algorithm}:BASE64"
        return f"{self.name} is a key for {self.algorithm}, and the signature is {algorithm}"


def parse_key(text: str, *, name: str, algorithm: str | None = None) -> Key:
    """Read a key as it is written: ``ed25519:BASE64``, or base64 alone, which is for ``algorithm``."""
    from base64 import b64decode

    written = re.fullmatch(_WRITTEN, text.strip())
    named = written[1] if written else algorithm
    if written and algorithm and algorithm != written[1]:
        raise UnusableKeyError(f"{name} is written as a key for {written[1]}, and its algorithm is set to {algorithm}")
    try:
        data = b64decode("".join((written[2] if written else text).split()), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        raise UnusableKeyError(f"{name} is not a base64-encoded key")
    if (named or DEFAULT_ALGORITHM) == DEFAULT_ALGORITHM and len(data) < SHARED_MINIMUM:
        raise UnusableKeyError(f"{name} is shorter than {SHARED_MINIMUM} bytes, too short for a shared key")
    return Key(algorithm=named or DEFAULT_ALGORITHM, data=data, name=name, named=named is not None)


def check_key_id(key_id: str) -> str:
    """Return a key id; raise when it has other characters, or would name another variable than a key's."""
    if not re.fullmatch(_ID, key_id) or re.fullmatch(_TAKEN, suffix(key_id)):
        raise UnusableKeyError(
            f"{key_id!r} is not a valid key id: use up to 64 letters, digits and ._-, and not ID or ALG at the end"
        )
    return key_id


def suffix(key_id: str) -> str:
    """Return a key id as the end of a variable's name: upper case, other characters as underscores."""
    return re.sub(r"[^A-Z0-9]", "_", key_id.upper())


def variable(name: str, key_id: str | None) -> str:
    """Return the variable of a key id: the general name and the id, in upper case; without an id the general one."""
    return f"{name}_{suffix(check_key_id(key_id))}" if key_id else name


def verify_key(environ: Mapping[str, str], use: KeyVariables, key_id: str | None) -> Key | None:
    """Return the key that verifies signatures of a key id: the one named after it, else the general one.

    Without either, the signing key verifies under its own id only, and only when it is a shared key.
    """
    for name in dict.fromkeys((variable(use.verify_key, key_id), use.verify_key)):
        if environ.get(name):
            algs = (variable(use.verify_alg, key_id), use.verify_alg, use.signing_alg)
            return parse_key(environ[name], name=name, algorithm=_first(environ, algs))
    own = signing_key(environ, use)
    if own is None or own.algorithm != DEFAULT_ALGORITHM or (key_id or None) != signing_key_id(environ, use):
        return None
    return own


def signing_key(environ: Mapping[str, str], use: KeyVariables) -> Key | None:
    """Return the key that signs, or None when there is none; it is never looked up by a key id."""
    name = use.signing_key
    if not environ.get(name):
        return None
    return parse_key(environ[name], name=name, algorithm=_first(environ, (use.signing_alg,)))


def signing_key_id(environ: Mapping[str, str], use: KeyVariables) -> str | None:
    """Return the id under which the signing key signs."""
    given = environ.get(use.signing_key_id)
    return check_key_id(given) if given else None


def _first(environ: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


__all__ = [
    "APPROVAL",
    "DEFAULT_ALGORITHM",
    "TRACE",
    "Key",
    "KeyVariables",
    "UnusableKeyError",
    "check_key_id",
    "parse_key",
    "signing_key",
    "signing_key_id",
    "suffix",
    "variable",
    "verify_key",
]
