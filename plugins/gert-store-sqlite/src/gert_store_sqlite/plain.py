"""Tell the plain tables and files of a SQLite database from what another program put among them.

A view, a trigger, a virtual table, a computed column or a condition is executed with each read or write of the table.
It can give rows without end, take for ever, or change what is written. SQLite itself waits for a pipe beside its file.
"""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING, Final

from gert_core.api import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_NAMES: Final = r"\(\w+(?:, \w+)*\)"
_PART: Final = rf"(?:PRIMARY KEY {_NAMES}|\w+ (?:TEXT|INTEGER|REAL|BLOB)(?: PRIMARY KEY)?(?: NOT NULL)?)"
_PLAIN: Final = {
    "table": re.compile(rf"CREATE TABLE \w+ \({_PART}(?:, {_PART})*\)(?: WITHOUT ROWID)?", re.ASCII),
    "index": re.compile(rf"CREATE INDEX \w+ ON \w+ {_NAMES}", re.ASCII),
}
"""How SQLite spells tables and indexes that have nothing but columns."""
_WORDS: Final = {"table": "a table with more than plain columns:", "index": "an index of more than columns:"}
_BESIDE: Final = ("-journal", "-wal", "-shm")


def strange(kind: str, sql: str | None) -> str | None:
    """Return what an entry of the schema is, for a sentence, when it is more than a plain table or index; else None."""
    if kind not in _PLAIN:
        return f"a {kind}"
    if sql is None:  # the index of a primary key
        return None
    text = " ".join(str(sql).split()).replace("( ", "(")
    return None if _PLAIN[kind].fullmatch(text) else _WORDS[kind]


def refuse_strange_files(path: Path) -> None:
    """Raise ``StoreError`` when a file that SQLite opens beside the database is not a file."""
    for suffix in _BESIDE:
        beside = path.with_name(f"{path.name}{suffix}")
        try:
            mode = beside.lstat().st_mode
        except OSError:  # there is none, or SQLite says what is wrong with it
            continue
        if not stat.S_ISREG(mode):
            raise StoreError(
                f"{beside} is not a regular file, and SQLite would wait for it or follow it",
                file=str(beside),
                hint="another program has put it there: remove it",
            )


__all__ = ["refuse_strange_files", "strange"]
