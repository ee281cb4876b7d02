"""Refuse a connection that looks for functions, operators and types elsewhere before it looks among the server's own.

PostgreSQL looks through ``pg_catalog`` first unless the search path names it further behind. What a schema before it
has under the same name is executed in its place: an ``=`` that finds no row, a ``COUNT(*)`` that is always 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import StoreError

if TYPE_CHECKING:
    import psycopg

_CATALOGUE: Final = "pg_catalog"
_TEMPORARY: Final = "pg_temp"
"""How the schema of a session's own tables begins, in which functions and operators are never looked for."""
# Without an operator, and the rest named in full: nothing of it can be replaced.
_ASKED: Final = "SELECT pg_catalog.current_schemas(true)"


def refuse_other_functions(url: str, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Raise ``StoreError`` when a schema comes before that of the server's own functions, operators and types."""
    ((schemas,),) = connection.execute(_ASKED).fetchall()
    first = next((name for name in schemas if not name.startswith(_TEMPORARY)), "")
    if first != _CATALOGUE:
        raise StoreError(
            f"the search path of {url} has the schema {first} before {_CATALOGUE}, so that functions and operators of "
            "it would be executed in place of those of the server",
            hint=f"take {_CATALOGUE} out of the search_path of the address, the role or the database: it then comes "
            "first by itself",
        )


__all__ = ["refuse_other_functions"]
