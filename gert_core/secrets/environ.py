"""Which variables of the environment are gert's own keys or a provider's tokens, and what tools get of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PREFIX: Final = "GERT_"
"""How all of the following begin: asked first, because every tool step looks at the whole environment."""
_STORE: Final = "GERT_STORE"
_OWN: Final = rf"GERT_.*_KEY.*|{_STORE}"
"""What no tool receives: signing and verifying keys, their ids and algorithms, and where runs are kept."""
_KEY: Final = r"GERT_.*_KEY(?:_.+)?"
_NO_KEY: Final = r"GERT_.*_(?:KEY_ID|KEY_ALG)"
_VERIFY: Final = r"(GERT_.*_VERIFY)_KEY(?:_.+)?"
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PUBLIC: Final = "ed25519"


def own_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return gert's private and shared keys in ``environ``, which are masked in everything; public ones are not."""
    return {
        name: value
        for name, value in environ.items()
        if name[:5] == _PREFIX
        and value
        and re.fullmatch(_KEY, name)
        and not re.fullmatch(_NO_KEY, name)
        and not _is_public(name, value, environ)
    }


def own_secrets(environ: Mapping[str, str], store: Iterable[str] = ()) -> dict[str, str]:
    """Return what gert masks in everything without being told: its own keys, and the password of the store of runs.

    ``store`` are the variables that the driver of that store reads.
    """
    keys = own_keys(environ)
    found = keys | {name: environ[name] for name in store if environ.get(name)}
    if keys:
        from gert_core.keys import UnusableKeyError, parse_key

        for name, value in keys.items():
            with suppress(UnusableKeyError):  # the variable has something else, which is masked as it is
                # The key itself, as text and as bytes: the masker knows the forms of each.
                found[f"{name}.bytes"] = parse_key(value, name=name).data.decode("utf-8", "surrogateescape")
                found[f"{name}.text"] = value.rpartition(":")[2].strip().rstrip("=")
    if address := environ.get(_STORE):
        from gert_core.kit.store_urls import passwords_of

        for number, password in enumerate(passwords_of(address), start=1):
            found[_STORE if number == 1 else f"{_STORE}.{number}"] = password
    return found


def _is_public(name: str, value: str, environ: Mapping[str, str]) -> bool:
    verify = re.fullmatch(_VERIFY, name)
    if verify is None:
        return False
    return value.startswith(f"{_PUBLIC}:") or environ.get(f"{verify[1]}_ALG", "").lower() == _PUBLIC


def provider_variables(config: object) -> frozenset[str]:
    """Return the variables that a configuration names: as the value of a field ``*_env``, or as ``env/NAME``."""
    return frozenset(_named(config))


def own_names(config: object, *, taker: str) -> list[str]:
    """Return gert's own variables that a configuration names, but for those called after who takes it.

    A project says to whom what it names is sent: a key of gert, or what opens the store of runs, must not go there.
    """
    mine = f"{_PREFIX}{taker.upper().replace('-', '_')}_"
    named = sorted(provider_variables(config))
    return [name for name in named if re.fullmatch(_OWN, name) and not name.startswith(mine)]


def _named(value: object, field: str = "") -> Iterator[str]:
    if isinstance(value, str):
        name = value.removeprefix("env/") if value.startswith("env/") else value if field.endswith("_env") else ""
        if re.fullmatch(_VARIABLE, name):
            yield name
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named(item, field)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named(item, str(key))


def child_environ(
    environ: Mapping[str, str], allowed: Iterable[str], *, declared: Iterable[str] = ()
) -> dict[str, str]:
    """Return ``environ`` without the declared secrets that are not allowed and without any of gert's own keys."""
    hidden = frozenset(declared) - frozenset(allowed)
    return {k: v for k, v in environ.items() if k not in hidden and not (k[:5] == _PREFIX and re.fullmatch(_OWN, k))}


__all__ = ["child_environ", "own_keys", "own_names", "own_secrets", "provider_variables"]
