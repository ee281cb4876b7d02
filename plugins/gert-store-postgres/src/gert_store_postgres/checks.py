"""Check the server of runs for ``gert doctor``: whether it takes writes and keeps them, and who could change them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gert_core.api import CheckResult, StoreError

if TYPE_CHECKING:
    from gert_core.api import CheckServices
    from gert_core.kit.tables.database import Database

SCHEMES: Final = ("postgres:", "postgresql:")
_APART: Final = 5.0
"""Seconds by which the clocks of server and client may differ."""
_SERVER: Final = """
SELECT pg_catalog.current_setting('server_version'),
       pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('default_transaction_read_only') = 'on',
       pg_catalog.current_setting('fsync') = 'on', :now,
       pg_catalog.current_schema() IS NOT NULL
           AND pg_catalog.has_schema_privilege(pg_catalog.current_schema(), 'CREATE')
"""
_ROLE: Final = """
SELECT current_user, (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user),
       coalesce((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()), false),
       coalesce(pg_catalog.host(pg_catalog.inet_server_addr()), '')
"""


def check_server(services: CheckServices) -> CheckResult | None:
    """Return whether runs can be written to the server and stay there; None when runs are kept elsewhere."""
    database = _database(services)
    if database is None:
        return None
    began = time.time()
    try:
        ((version, read_only, synced, now, may_create),) = database.read(_SERVER)
        tables = database.has_tables()
    except StoreError as error:
        return CheckResult(status="fail", message=error.message, hint=error.hint or "see that the server is there")
    if read_only:
        hint = "name the server that takes writes, not a standby of it"
        return CheckResult(status="fail", message=f"PostgreSQL {version} takes no writes", hint=hint)
    if not tables and not may_create:
        hint = "grant CREATE on the schema, or make the tables once with a role that may"
        return CheckResult(status="fail", message="there are no tables yet, and this role may not make them", hint=hint)
    if not synced:
        hint = "set fsync = on: a crash of its machine loses what runs recorded, and steps are executed twice"
        return CheckResult(status="warn", message=f"PostgreSQL {version} does not sync to disk", hint=hint)
    apart = max(began - float(now), float(now) - time.time(), 0.0)
    if apart > _APART:
        hint = "set both clocks: traces have the times of this machine, leases those of the server"
        return CheckResult(
            status="warn", message=f"the clock of the server differs by {apart:.0f} s from this one", hint=hint
        )
    return CheckResult(status="ok", message=f"PostgreSQL {version} takes writes and syncs them")


def check_role(services: CheckServices) -> CheckResult | None:
    """Return who could read or change what is written; None when runs are kept elsewhere."""
    database = _database(services)
    if database is None:
        return None
    try:
        ((user, superuser, encrypted, address),) = database.read(_ROLE)
    except StoreError:
        return None  # the check before says it
    if address and not encrypted and not address.startswith(("127.", "::1")):
        hint = "add sslmode=verify-full to the address"
        return CheckResult(status="warn", message=f"the connection to {address} is not encrypted", hint=hint)
    if superuser:
        hint = "give gert a role of its own, which owns nothing but its schema"
        return CheckResult(status="warn", message=f"role {user} may do everything on the server", hint=hint)
    return CheckResult(status="ok", message=f"role {user} is not a superuser")


def _database(services: CheckServices) -> Database | None:
    """Return the database of the store, if it is one of this plugin; nothing of its driver is imported before."""
    if services.store is None or not services.store.url.startswith(SCHEMES):
        return None
    from gert_core.kit.tables.store import TableStore

    return services.store.database if isinstance(services.store, TableStore) else None


__all__ = ["check_role", "check_server"]
