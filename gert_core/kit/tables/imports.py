"""Write the lines and blobs of a run of another store, in the transaction in which its row is inserted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gert_core.api.store_records import RunRow
from gert_core.kit.blob_names import check_blob_name
from gert_core.kit.run_rows import advance
from gert_core.kit.tables.blobs import check_size, put_blob
from gert_core.kit.tables.rows import assignments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.kit.tables.database import Transaction

_ROWS: Final = 200
"""How many lines one statement inserts; three values each, and no database takes less than 999."""


def fill_run(
    transaction: Transaction, run_id: str, lines: Iterable[bytes], blobs: Iterable[tuple[str, bytes]], *, token: str
) -> None:
    """Insert lines and blobs of a run that has nothing but its row, and bring the row to its last line."""
    row, found = RunRow(run_id=run_id), iter(lines)
    while group := [line.removesuffix(b"\n") for line in islice(found, _ROWS)]:
        values = [value for seq, line in enumerate(group, row.last_seq + 1) for value in (run_id, seq, line)]
        places = ", ".join("(?, ?, ?)" for _ in group)
        transaction.execute(f"INSERT INTO gert_events (run_id, seq, line) VALUES {places}", values)  # noqa: S608 - marks
        row = advance(row, group, row.last_seq + len(group))
    for name, data in blobs:
        check_blob_name(name)
        check_size(run_id, name, len(data))
        put_blob(transaction, run_id, name, data, new=False, token=token)
    what, given = assignments(row, told=True)
    transaction.execute(f"UPDATE gert_runs SET {what} WHERE run_id = ?", [*given, run_id])  # noqa: S608 - columns


__all__ = ["fill_run"]
