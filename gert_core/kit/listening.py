"""Read the address at which a server listens, as people give it on a command line: ``HOST:PORT``."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from gert_core.api.errors import UsageError

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
"""Hosts that only programs of this machine can connect to."""
_LAST_PORT: Final = 65535


class ListenAddress(Struct, frozen=True, kw_only=True):
    """Where a server listens; port 0 is any that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        return self.host in LOOPBACK

    @property
    def shown(self) -> str:
        """The address as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listen_address(option: str, text: str, *, example: str) -> ListenAddress:
    """Return the address that an option was given; raise ``UsageError``, which names the example, for another text."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > _LAST_PORT:
        raise UsageError(f"{option} takes HOST:PORT, not {text!r}", hint=f"such as {option} {example}")
    return ListenAddress(host=host, port=int(port))


__all__ = ["LOOPBACK", "ListenAddress", "listen_address"]
