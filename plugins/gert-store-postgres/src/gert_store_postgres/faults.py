"""Tell a lost connection from other errors of PostgreSQL, and say in one sentence what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import StoreError
from gert_core.kit.tables.database import LostError
from gert_store_postgres.bounded import SilentError

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection

LOST: Final = ("08", "57P01", "57P02", "57P03")
"""How the codes of errors begin after which a new connection may work."""
_WHY: Final = {
    "53100": ("the disk of the server is full", "free disk space there, then resume the run"),
    "25006": ("the database is read-only", "name the server that writes, not a copy of it"),
    "42501": ("this user may not read or write the tables", "grant the user of the address the rights on the tables"),
    "57014": (
        "a statement took too long, or an administrator ended it",
        "look what the server is busy with; `options=-cstatement_timeout=5min` in the address allows more time",
    ),
    "53300": ("the server has too many connections", "raise max_connections, or let fewer runs use it at once"),
}


def fault_of(url: str, error: psycopg.Error, connection: Connection[tuple[Any, ...]]) -> StoreError:
    """Return the sentence for an error; it is a ``LostError`` when a new connection may work."""
    if isinstance(error, SilentError):  # another connection would be left without an answer as well
        return StoreError(f"{url} cannot be used: {error}", hint=_WHY["57014"][1])
    if (error.sqlstate or "").startswith(LOST) or connection.closed or connection.broken:
        return lost(url, error)
    return told(url, error)


def told(url: str, error: psycopg.Error) -> StoreError:
    """Return the sentence for an error of a statement."""
    why, hint = _WHY.get(error.sqlstate or "", (_words(error), None))
    return StoreError(f"{url} cannot be used: {why}", hint=hint)


def lost(url: str, error: psycopg.Error) -> LostError:
    """Return the sentence for a connection that was lost."""
    return LostError(f"the connection to {url} was lost: {_words(error)}")


def unreachable(url: str, error: psycopg.Error) -> StoreError:
    """Return the sentence for a connection that cannot be made."""
    return StoreError(
        f"{url} cannot be reached: {_words(error)}",
        hint="start the server, or correct the address; PGPASSWORD or a .pgpass file gives the password",
    )


def _words(error: psycopg.Error) -> str:
    """Return the last line of a message that says something, in which libpq states the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.endswith("?") and not line.startswith(("LINE ", "^", "- "))]
    text = (said or lines or ["no reason was given"])[-1]
    for word in ("FATAL:", "ERROR:", "failed:"):
        text = text.rpartition(word)[2].strip()
    return text.rstrip(".")


__all__ = ["LOST", "fault_of", "lost", "told", "unreachable"]
