"""Tell the plain tables and files of a SQLite database from what another program put among them.

A view, a trigger, a virtual table, a computed column or a condition is executed with each read or write of the table.
It can give rows without end, take for ever, or change what is written. SQLite itself waits for a pipe beside its file,
takes what a journal has for content of the file, and deletes the file that a journal names.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Final

from gert_core.api import StoreError
from gert_core.kit.files import open_file
from gert_core.kit.sharing import user_name

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
_JOURNAL: Final = "-journal"
_BESIDE: Final = (_JOURNAL, "-wal", "-shm")
_NAMES_ANOTHER: Final = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that is one of several: before it stands the name of a file, which SQLite deletes in the end."""


def strange(kind: str, sql: str | None) -> str | None:
    """Return what an entry of the schema is, for a sentence, when it is more than a plain table or index; else None."""
    if kind not in _PLAIN:
        return f"a {kind}"
    if sql is None:  # the index of a primary key
        return None
    text = " ".join(str(sql).split()).replace("( ", "(")
    return None if _PLAIN[kind].fullmatch(text) else _WORDS[kind]


def refuse_strange_files(path: Path) -> None:
    """Raise ``StoreError`` when a file that SQLite opens beside the database is not a file of it."""
    path = path.resolve()  # SQLite follows a link, and has these files beside the one that it leads to
    owners = None
    for suffix in _BESIDE:
        beside = path.with_name(f"{path.name}{suffix}")
        try:
            found = beside.lstat()
        except OSError:  # there is none, or SQLite says what is wrong with it
            continue
        if not stat.S_ISREG(found.st_mode):
            raise _strange(beside, "is not a regular file, and SQLite would wait for it or follow it")
        owners = _owners(path) if owners is None else owners
        if found.st_uid not in owners[0] and found.st_gid != owners[1]:
            raise _strange(beside, f"belongs to user {user_name(found.st_uid)}, and SQLite would believe what it says")
        if suffix == _JOURNAL and _end(beside) == _NAMES_ANOTHER:
            raise _strange(beside, "names another file, which SQLite would delete")


def _owners(path: Path) -> tuple[set[int], int | None]:
    """Return the users whose files may stand beside a database, and the group of one that a group writes to."""
    try:
        found = path.stat()
    except OSError:
        return {os.geteuid(), 0}, None
    return {os.geteuid(), 0, found.st_uid}, found.st_gid if found.st_mode & stat.S_IWGRP else None


def _end(beside: Path) -> bytes:
    try:
        with open_file(beside) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_NAMES_ANOTHER)))
            return file.read()
    except OSError:  # it is gone, or SQLite cannot read it either
        return b""


def _strange(beside: Path, what: str) -> StoreError:
    hint = "another program has put it there: remove it"
    return StoreError(f"{beside} {what}", file=str(beside), hint=hint)


__all__ = ["refuse_strange_files", "strange"]
