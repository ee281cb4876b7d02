"""Read what ``approvals.config`` has for a provider: names of variables with secrets, and addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from gert_core.api.errors import UsageError
from gert_core.kit.listening import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALLOW_SELF: Final = "allow_self"
"""The setting that leaves it to the rules whether who started a run decides: surfaces read it with every provider."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CORRECT: Final = "correct approvals.config in gert-project.yaml"


def refuse_unknown(config: Mapping[str, Any], known: Sequence[str], provider: str) -> None:
    """Raise ``UsageError`` for a setting that neither the provider nor a surface knows."""
    if unknown := [name for name in config if name not in (*known, ALLOW_SELF)]:
        raise UsageError(
            f"approvals.config has {unknown[0]!r}, which the provider {provider} does not know",
            hint=f"it takes {', '.join(known)}",
        )


def variable(config: Mapping[str, Any], name: str) -> str | None:
    """Return the name of a variable; None when the setting is missing."""
    value = config.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):  # perhaps the secret itself, so it is not shown
        raise UsageError(f"approvals.config.{name} is not the name of a variable", hint=_CORRECT)
    return value


def address(config: Mapping[str, Any], name: str) -> str | None:
    """Return a web address without a slash at its end; None when the setting is missing.

    Only to this machine it may be without encryption.
    """
    value = config.get(name)
    if value is None:
        return None
    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isprintable() else None
        usable = parts is not None and bool(parts.hostname) and parts.port != 0 and " " not in value
    except ValueError:
        parts, usable = None, False
    if parts is None or not usable or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(f"approvals.config.{name} is not an address that begins with https://", hint=_CORRECT)
    if not str(value).startswith("https://") and (
        not str(value).startswith("http://") or parts.hostname not in LOOPBACK
    ):
        raise UsageError(f"approvals.config.{name} must begin with https://", hint=_CORRECT)
    return str(value).rstrip("/")


def secret(environ: Mapping[str, str], setting: str, name: str, what: str) -> str:
    """Return the value of a variable that a setting names; raise ``UsageError`` when it has none."""
    value = (environ.get(name) or "").strip()
    if not value:
        raise UsageError(f"approvals.config.{setting} names {name}, which is not set", hint=f"put {what} there")
    if not value.isascii() or not value.isprintable():
        raise UsageError(
            f"{name} cannot be used: it has characters that {what} does not have", hint=f"put {what} there"
        )
    return value


def seconds(config: Mapping[str, Any], name: str) -> float:
    """Return a number of seconds, 0 when the setting is missing; raise ``UsageError`` for anything else."""
    value = config.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"approvals.config.{name} must be a number of seconds, not {value!r}", hint=_CORRECT)
    return float(value)


def missing(setting: str, what: str, example: str) -> UsageError:
    """Return the error about a setting that there must be."""
    return UsageError(f"approvals.config.{setting} is missing", hint=f"{what}, such as {example}")


__all__ = ["ALLOW_SELF", "address", "missing", "refuse_unknown", "seconds", "secret", "variable"]
