"""Look for secrets in the files of scenarios: documents and traces are read as data, other files as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api.errors import GertError
from gert_core.documents import yaml
from gert_core.kit.files import MIB, read_named
from gert_core.kit.json_reader import loads
from gert_core.scenarios.recording.scan import Hit, hits_in, kinds_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_LIMIT: Final = 256 * MIB
_START: Final = 4096
_DOCUMENTS: Final = (".yaml", ".yml", ".json")
_NAMES: Final = (*_DOCUMENTS, ".jsonl", ".txt", ".log", ".md")
"""The files that are looked at in a directory; one that is named is looked at whatever it is called."""


def scan_paths(paths: Iterable[Path]) -> tuple[int, list[Hit]]:
    """Return how many files were looked at, and what was found in them."""
    count, found = 0, list[Hit]()
    for path in paths:
        for file in _files(path):
            count += 1
            found += _in_file(file)
    return count, found


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.suffix in _NAMES and file.is_file() and not hidden:
            yield file


def _in_file(file: Path) -> Iterator[Hit]:
    try:
        data = read_named(file, most=_LIMIT)
    except OSError as error:
        yield Hit(place=str(file), kind=f"cannot be read: {error.strerror}")
        return
    text = data.decode(_encoding(data), "replace")
    seen: set[tuple[int, str]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        for kind in kinds_in(line):
            seen.add((number, kind))
            yield Hit(place=f"{file}:{number}", kind=kind)
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            found = {hit.kind for hit in hits_in(_decoded(line))}
            yield from (
                Hit(place=f"{file}:{number}", kind=kind) for kind in sorted(found) if (number, kind) not in seen
            )
    elif file.suffix in _DOCUMENTS:
        known = {kind for _, kind in seen}
        for hit in hits_in(_loaded(data, file)):  # what escapes and several lines hide from a reader of lines
            if hit.kind not in known:
                yield Hit(place=f"{file}: {hit.place}", kind=hit.kind)


def _encoding(data: bytes) -> str:
    """Return the encoding of a file: as its first bytes say, or UTF-16 where every second byte is zero."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = data[:_START]
    if len(start) > 1 and 2 * start[1::2].count(0) > len(start[1::2]):
        return "utf-16-le"
    return "utf-16-be" if len(start) > 1 and 2 * start[::2].count(0) > len(start[::2]) else "utf-8"


def _decoded(line: str) -> object:
    try:
        return loads(line)
    except ValueError:
        return None


def _loaded(data: bytes, file: Path) -> object:
    try:
        return yaml.loads(data, name=str(file)).value
    except GertError:
        return None


__all__ = ["scan_paths"]
