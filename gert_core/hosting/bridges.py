"""The keys of programs that answer for people; only hosts that do so read them, never a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, UsageError
from gert_core.keys import DEFAULT_ALGORITHM, UnusableKeyError, parse_key, suffix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.keys import Key

BRIDGE_KEY: Final = "GERT_BRIDGE_SIGNING_KEY"
LINK_KEY: Final = "GERT_LINK_SIGNING_KEY"


def bridge_key(environ: Mapping[str, str], bridge: str) -> Key | None:
    """Return the key that a bridge signs answers with: the one named after it, else the general one; None without."""
    for name in (f"{BRIDGE_KEY}_{suffix(bridge)}", BRIDGE_KEY):
        if environ.get(name):
            key = _parsed(environ[name], name)
            if not key.named or key.algorithm == DEFAULT_ALGORITHM:
                raise UsageError(
                    f"{name} must be a key pair's, such as ed25519:BASE64: policies have its public part",
                    kind=ErrorKind.SIGNATURE_KEY_UNUSABLE,
                    hint="`gert keys new` makes one",
                )
            return key
    return None


def link_key(environ: Mapping[str, str]) -> bytes | None:
    """Return the key that personal links are signed with; None when there is none."""
    if not environ.get(LINK_KEY):
        return None
    key = _parsed(environ[LINK_KEY], LINK_KEY)
    if key.algorithm != DEFAULT_ALGORITHM:
        raise UsageError(
            f"{LINK_KEY} must be a shared key, such as {DEFAULT_ALGORITHM}:BASE64",
            kind=ErrorKind.SIGNATURE_KEY_UNUSABLE,
            hint=f"`gert keys new links --algorithm {DEFAULT_ALGORITHM}` makes one",
        )
    return key.data


def _parsed(text: str, name: str) -> Key:
    try:
        return parse_key(text, name=name)
    except UnusableKeyError as error:
        raise UsageError(str(error), kind=ErrorKind.SIGNATURE_KEY_UNUSABLE, hint=f"correct {name}") from None


__all__ = ["BRIDGE_KEY", "LINK_KEY", "bridge_key", "link_key"]
