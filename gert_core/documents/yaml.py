"""Read YAML documents: values with the file, line and column of every key and value."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.diagnostics import Diagnostic
from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gert_core.documents.spans import Ends

from gert_core.documents.compose import (
    BARE_TEMPLATE,
    MAX_DIAGNOSTICS,
    Composer,
    Map,
    Mark,
    Seq,
    UnreadableDocumentError,
    parser,
)
from gert_core.documents.pairs import joined_pairs
from gert_core.documents.yaml_errors import BREAKS, explain
from gert_core.kit.files import read_named

MAX_BYTES: Final = 4 * 1024 * 1024
NOT_UTF_8: Final = "the file is not UTF-8"
TOO_LARGE: Final = "the file is larger than 4 MiB"
_BOM: Final = b"\xef\xbb\xbf"
_OTHER_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
# What YAML allows is much more than what it does not, and compiling a range takes as long as it is wide.
_CONTROL: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_IGNORE: Final = r"(?:^|\s)#\s*gert:\s*ignore\[([A-Za-z0-9_,\s-]*)\]"
_MANY_DIRECTIVES: Final = 16


class Document:
    """One YAML file as read: its value, the positions of everything in it, and the findings about it as YAML.

    ``value`` is None when the text cannot be read; ``diagnostics`` then has the reason (rule ``yaml-syntax``).
    """

    __slots__ = ("_ends", "_lines", "_text", "diagnostics", "digest", "file", "path", "start", "value")

    def __init__(
        self,
        *,
        file: str,
        path: Path | None,
        value: Any,
        digest: str,
        diagnostics: Sequence[Diagnostic],
        text: str,
        start: tuple[int, int] = (1, 1),
    ) -> None:
        self.file = file
        self.path = path
        self.value = value
        self.digest = digest
        self.diagnostics = tuple(diagnostics)
        self.start = start
        self._text = text
        self._lines: list[str] | None = None
        self._ends: Ends | None = None

    def locate(self, path: Sequence[str | int], *, key: bool = False) -> tuple[int, int]:
        """Return the position of the value at ``path`` (its key with ``key``), or of the nearest existing ancestor."""
        line, column = self.start
        value = self.value
        for segment in path:
            mark = _mark(value, segment)
            if mark is None:
                break
            value = value[segment]
            line, column = mark[:2] if key else mark[2:]
        return line, column

    def span(self, path: Sequence[str | int], *, key: bool = False) -> tuple[int, int, int, int]:
        """Return where the value at ``path`` (its key with ``key``) begins and ends: two positions, the end behind it.

        Of a path that does not exist, it is the nearest existing ancestor, as in ``locate``.
        """
        if self._ends is None:
            from gert_core.documents.spans import Ends  # only editors need it

            self._ends = Ends(joined_pairs(self._text))
        key = key and isinstance(path[-1], str)  # items of lists have no key
        place = self.locate(path, key=key)
        return (*place, *self._ends.of(place, key=key))

    def at(self, line: int, column: int) -> tuple[str | int, ...]:
        """Return the path of the innermost value that has a position, or whose key has it; empty for the document."""
        path: tuple[str | int, ...] = ()
        value, place = self.value, (line, column)
        while isinstance(value, Map | Seq):
            marks = value.marks.items() if isinstance(value, Map) else enumerate(value.marks)
            found = [(segment, mark) for segment, mark in marks if mark[:2] <= place]
            if not found:
                break
            segment, mark = max(found, key=lambda one: one[1][:2])
            path = (*path, segment)
            if mark[2:] > place:  # it is in the key
                break
            value = value[segment]  # type: ignore[index]
        return path

    def source_line(self, line: int) -> str:
        """Return the text of a line, numbered from 1; empty when there is none."""
        if self._lines is None:
            self._lines = re.split(BREAKS, self._text)
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""

    def ignores(self, line: int) -> frozenset[str]:
        """Return the rules that a ``# gert: ignore[rule, ...]`` comment on that line silences."""
        if "gert:" not in self._text:
            return frozenset()
        found = re.search(_IGNORE, self.source_line(line))
        return frozenset(found[1].replace(",", " ").split()) if found else frozenset()


def _mark(value: object, segment: str | int) -> Mark | None:
    if isinstance(value, Map) and isinstance(segment, str):
        return value.marks.get(segment)
    if isinstance(value, Seq) and isinstance(segment, int) and 0 <= segment < len(value.marks):
        return value.marks[segment]
    return None


def load(path: Path, *, name: str | None = None) -> Document:
    """Read a file, called ``name`` in messages; raise ``UsageError`` when it cannot be opened."""
    file = name if name is not None else str(path)
    if _thread.texts and (text := _thread.texts.get(path.resolve())) is not None:
        return _read(text, file=file, path=path)
    try:
        data = read_named(path, most=MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot read {file}: {reason}", file=file, hint="check the path and its permissions"
        ) from error
    return _read(data, file=file, path=path)


def loads(data: bytes, *, name: str, path: Path | None = None) -> Document:
    """Read a document from bytes, called ``name`` in messages; ``path`` is where it would be as a file."""
    return _read(data, file=name, path=path)


def is_file(path: Path) -> bool:
    """Return whether there is a file to be read; a name that the file system refuses to look up is not one."""
    try:
        return (_thread.texts is not None and path.resolve() in _thread.texts) or path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False


class _Thread(threading.local):
    texts: Mapping[Path, bytes] | None = None


_thread: Final = _Thread()


@contextmanager
def overlaid(texts: Mapping[Path, bytes] | None) -> Iterator[None]:
    """Let this thread read these bytes instead of the files at the paths, as editors have them unsaved.

    Inside another overlay they are added to it.
    """
    before = _thread.texts
    if texts:
        _thread.texts = {**(before or {}), **{path.resolve(): text for path, text in texts.items()}}
    try:
        yield
    finally:
        _thread.texts = before


def _read(data: bytes, *, file: str, path: Path | None) -> Document:
    diagnostics: list[Diagnostic] = []

    def report(rule: str, message: str, line: int, column: int, hint: str | None) -> None:
        if len(diagnostics) < MAX_DIAGNOSTICS:
            if hint == BARE_TEMPLATE:
                from gert_core.template.quoting import requoted  # only mistakes need it

                right = requoted(re.split(BREAKS, text)[line - 1])
                hint = f"a template that begins a value must be quoted: write {right}" if right else hint
            diagnostics.append(
                Diagnostic(rule=rule, message=message, phase=1, file=file, line=line, column=column, hint=hint)
            )

    text = ""
    value = None
    start = (1, 1)
    try:
        text = _decode(data)
        joined = joined_pairs(text)
        composer = Composer(parser(data if joined is text else joined.encode()), report)
        value = composer.document()
        start = composer.start
    except UnreadableDocumentError as error:
        value = None
        report("yaml-syntax", error.message, error.line, error.column, error.hint)
    except Exception as error:
        message, line, column, hint = explain(error, text)
        value = None
        report("yaml-syntax", message, line, column, hint)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return Document(file=file, path=path, value=value, digest=digest, diagnostics=diagnostics, text=text, start=start)


def _decode(data: bytes) -> str:
    """Decode the bytes, after the checks that need no parser."""
    if len(data) > MAX_BYTES:
        raise UnreadableDocumentError(TOO_LARGE, line=1, column=1, hint="split it into smaller documents")
    if data.startswith(_OTHER_BOMS):
        raise UnreadableDocumentError(f"{NOT_UTF_8} but UTF-16 or UTF-32", line=1, column=1, hint="save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8", "replace"))
        raise UnreadableDocumentError(
            f"{NOT_UTF_8}: byte 0x{data[error.start]:02x}",
            line=line,
            column=column,
            hint="save it as UTF-8",
        ) from None
    text = text.removeprefix("\ufeff")
    found = _CONTROL.search(text)
    if found:
        line, column = _position(text[: found.start()])
        raise UnreadableDocumentError(
            f"the character U+{ord(found[0]):04X} is not allowed in a document",
            line=line,
            column=column,
            hint="remove it, or write it as an escape in double quotes",
        )
    if data.count(b"\n%") > _MANY_DIRECTIVES and data.lstrip()[:1] in (b"%", b"#"):
        # libyaml compares every %TAG with every other one.
        raise UnreadableDocumentError(
            "the file has too many YAML directives", line=1, column=1, hint="remove the `%` lines"
        )
    return text


def _position(before: str) -> tuple[int, int]:
    lines = re.split(BREAKS, before)
    return len(lines), len(lines[-1]) + 1


__all__ = ["NOT_UTF_8", "TOO_LARGE", "Document", "Map", "Mark", "Seq", "is_file", "load", "loads", "overlaid"]
