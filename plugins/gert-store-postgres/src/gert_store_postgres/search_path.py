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
# All of it is named in full, the operator too: nothing of it can be replaced.
_ASKED: Final = """
SELECT pg_catalog.current_schemas(true), (
    SELECT nspname FROM pg_catalog.pg_namespace WHERE oid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
)
"""
"""The search path, and the schema of the session's own temporary tables, or null.

PostgreSQL never looks for functions and operators in that one, but it does in the temporary schema of another session.
"""


def refuse_other_functions(url: str, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Raise ``StoreError`` when a schema comes before that of the server's own functions, operators and types."""
    ((schemas, temporary),) = connection.execute(_ASKED).fetchall()
    first = next((name for name in schemas if name != temporary), "")
    if first != _CATALOGUE:
        raise StoreError(
            f"the search path of {url} has the schema {first} before {_CATALOGUE}, so that functions and operators of "
            "it would be executed in place of those of the server",
            hint=f"take {_CATALOGUE} out of the search_path of the address, the role or the database: it then comes "
            "first by itself",
        )


__all__ = ["refuse_other_functions"]
