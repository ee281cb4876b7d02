"""The records of run stores: what runs, leases, blobs and the ledger say, and the store itself in a plugin."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads it where rows are decoded
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal
    from pathlib import Path

    from gert_core.api.data import Json
    from gert_core.api.stores import RunStore

BLOB_LIMIT: Final = 64 * 1024 * 1024
"""The largest blob of a database store, and what is read of one unless a caller asks for more."""
LEASE_TTL: Final = 60.0
"""The seconds for which the core acquires and renews a lease; it renews every third of them."""
HOLD_SECONDS: Final = 0.2
"""How long a database sink may hold groups back before it writes them."""
HOLD_BYTES: Final = 256 * 1024
"""How many bytes a database sink may hold back before it writes them."""

ClaimState = Literal["open", "success", "failed", "unknown"]
"""How far the owner of a claim got."""
Settled = Literal["success", "failed", "unknown"]
"""How an open claim ended."""


class SchemaInfo(Struct, frozen=True, kw_only=True):
    """What a store is: ``backend`` is ``file``, ``sqlite``, ``postgres`` ..., ``schema_version`` that of its tables."""

    backend: str
    schema_version: str = "1"


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs to list; what is not given excludes none. Times are texts as in the trace (``...T...Z``)."""

    status: tuple[str, ...] = ()
    """Statuses as ``RunRow`` has them; one of them."""
    active: bool | None = None
    """Whether it is on its way: ``running``, ``queued`` or ``interrupted``."""
    runbook: str | None = None
    tenant: str | None = None
    outcome: str | None = None
    """The category of the outcome."""
    code: str | None = None
    mode: str | None = None
    actor: str | None = None
    since: str | None = None
    """Started then or later."""
    until: str | None = None
    """Started before."""
    before: str | None = None
    """The id of a run: only runs that come after it in the list, for the next page."""
    limit: int | None = None


class RunRow(Struct, frozen=True, kw_only=True):
    """One run in a list; ``gert_core.kit.run_rows`` makes it of the lines that begin ``{"type":"run_``.

    ``outcome`` is the category, ``code`` its code. ``blocked_on`` has ``{"kind": "approval", "key": ...}`` for each
    thing that the run waits for; kinds are ``approval``, ``answer``, ``unblock`` and ``reconcile``. A run that is
    ``running`` and that no worker holds is ``interrupted``.
    """

    run_id: str
    runbook: str = ""
    status: str = "running"
    outcome: str | None = None
    code: str | None = None
    mode: str = ""
    tenant: str | None = None
    actor: str | None = None
    started: str | None = None
    updated: str | None = None
    finished: str | None = None
    duration: str | None = None
    waited: str | None = None
    last_seq: int = 0
    blocked_on: tuple[Mapping[str, str], ...] = ()
    live: bool = False
    """Whether a worker holds it now."""
    problem: str | None = None
    """Why it cannot be read; its status is ``unreadable`` then."""


class TicketRow(Struct, frozen=True, kw_only=True):
    """A ticket and the run that it is of; a hint, which is checked against the run's trace."""

    ticket_id: str
    run_id: str
    runbook: str = ""
    step_id: str = ""
    status: str = "open"
    """``open``, or ``answered`` once there is an answer to it."""


class Blob(Struct, frozen=True, kw_only=True):
    """The content of a blob, and who wrote it when, as the store knows it; no content can claim otherwise."""

    data: bytes
    written: str | None = None
    uid: int | None = None
    """The number of the user whose file it is; None where files have none."""
    links: int = 1
    """How many names the file has; more than one is suspicious."""


class BlobInfo(Struct, frozen=True, kw_only=True):
    """How large a blob is, and when it was written."""

    size: int
    written: str | None = None


class Lease(Struct, frozen=True, kw_only=True):
    """The right of one worker to write a run, until ``expires_at`` (a text as in the trace) by the store's clock.

    ``fence`` grows with every ``acquire``: a writer with an older one is refused. Without ``expires_at`` it ends with
    its process, whose id is ``process``. ``remaining`` are the seconds until then, as the store counts them, which the
    clock of this machine need not agree with; ``holder`` tells them.
    """

    worker_id: str
    fence: int = 0
    expires_at: str | None = None
    process: int | None = None
    remaining: float | None = None


class Recovered(Struct, frozen=True, kw_only=True):
    """The end of a trace after ``recover``: the number of its last line, and how many torn bytes were cut off."""

    seq: int = 0
    torn: int = 0


class Claim(Struct, frozen=True, kw_only=True):
    """Who holds a key: the owner, and how far it got (``open``, then ``success``, ``failed`` or ``unknown``)."""

    owner: str
    state: ClaimState = "open"
    at: str = ""


class Total(Struct, frozen=True, kw_only=True):
    """What is reserved under a key: by how many owners, and how much together."""

    count: int
    amount: Decimal


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """What an owner claimed or reserved under a key, for a run that moves to another store.

    A claim has a ``state``, a reservation an ``amount``; the other one is None.
    """

    key: str
    owner: str
    at: str = ""
    state: ClaimState | None = None
    amount: Decimal | None = None


class StoreServices(Struct, frozen=True, kw_only=True):
    """What the core gives to a store that it opens.

    ``root`` is the directory from which paths in an address are meant: the project's, or the current one. ``config``
    is the plugin's own part of ``plugins.config``. ``warn`` says one sentence to the person at the terminal.
    """

    root: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    warn: Callable[[str], None] = lambda _: None


class StoreType(Struct, frozen=True, kw_only=True):
    """A kind of store by name; ``open(url, services)`` returns it for an address of one of its ``schemes``.

    The address is given as the user wrote it, with a password if it has one.
    """

    name: str
    schemes: tuple[str, ...]
    open: str | Callable[[str, StoreServices], RunStore]
    summary: str = ""


__all__ = [
    "BLOB_LIMIT",
    "HOLD_BYTES",
    "HOLD_SECONDS",
    "LEASE_TTL",
    "Blob",
    "BlobInfo",
    "Claim",
    "ClaimState",
    "Lease",
    "LedgerEntry",
    "Recovered",
    "RunQuery",
    "RunRow",
    "SchemaInfo",
    "Settled",
    "StoreServices",
    "StoreType",
    "TicketRow",
    "Total",
]
