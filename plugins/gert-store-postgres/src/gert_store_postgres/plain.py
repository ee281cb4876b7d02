"""Tell the plain tables of a PostgreSQL database from what another program put among them.

A view, a rule, a trigger, a foreign key, row-level security, a computed column, a condition or what another table is
partitioned by is executed with each read or write of a table: it can take for ever, hide rows, or swallow what is
written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import StoreError
from gert_core.kit.tables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = "gert_schema"
_NAMES: Final = ", ".join(f"'{name}'" for name in (SCHEMA, *TABLES, "gert_ledger"))
_STRANGE: Final = (
    ("c.relkind <> 'r'", "is not a table"),
    ("c.relrowsecurity", "has row-level security"),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite WHERE ev_class = c.oid)", "has a rule"),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = c.oid AND contype = 'f')", "has a foreign key"),
    (
        "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE confrelid = c.oid AND contype = 'f')",
        "is what a foreign key of another table refers to",
    ),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = c.oid)", "has a trigger"),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_inherits WHERE inhparent = c.oid)", "has tables below it"),
    ("c.relispartition", "is a partition of another table"),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_inherits WHERE inhrelid = c.oid)", "inherits from another table"),
    ("EXISTS (SELECT 1 FROM pg_catalog.pg_attrdef WHERE adrelid = c.oid)", "has a column with a value of its own"),
    (
        "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = c.oid AND contype IN ('c', 'x'))",
        "has a condition",
    ),
    (
        (
            "EXISTS (SELECT 1 FROM pg_catalog.pg_index "
            "WHERE indrelid = c.oid AND (indexprs IS NOT NULL OR indpred IS NOT NULL))"
        ),
        "has an index of more than columns",
    ),
    (
        "EXISTS (SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = c.oid AND atttypid >= '16384')",
        "has a column of a type that somebody made",
    ),
)
"""What is executed with a table, by the catalogue; types that come with the server have lower numbers.

No function is called, and both sides of an operator have one type: one of a schema cannot fit better than the server's.
"""
_CASES: Final = " ".join(f"WHEN {condition} THEN '{what}'" for condition, what in _STRANGE)
# Of the table of tables itself: to_regclass remembers that there was none, beyond a lock that was waited for.
FOUND: Final = f"""
SELECT c.relname::text, CASE {_CASES} END FROM pg_catalog.pg_class c
WHERE c.relname IN ({_NAMES}) AND pg_catalog.pg_table_is_visible(c.oid)
"""  # noqa: S608 - constants
"""The tables of gert that the search path finds, each with what is strange about it."""


def has_schema(url: str, found: Iterable[tuple[Any, ...]]) -> bool:
    """Return whether the tables are there, by the rows of ``FOUND``; raise ``StoreError`` for one that is not plain."""
    names = set()
    for name, strange in found:
        if strange is not None:
            raise StoreError(
                f"{name} in {url} {strange}, which would be executed whenever gert uses it",
                hint="gert makes plain tables only, and another program has put it there: remove it",
            )
        names.add(name)
    return SCHEMA in names


__all__ = ["FOUND", "has_schema"]
