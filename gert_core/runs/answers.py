"""Store the answers that people give while a run is suspended: one file per question, which is never replaced."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.durable import sync_name
from gert_core.kit.files import MIB, UnreadableError, decode_record, list_names, read_file_info
from gert_core.kit.sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FOLDER: Final = "answers"
UPLOADS: Final = "uploads"
"""The directory of files that are answers, until their step takes them."""
LIMIT: Final = MIB
"""The largest file with an answer."""
_NAME: Final = re.compile(r"([0-9]{1,15})\.json")


class StoredAnswer(Struct, frozen=True, kw_only=True):
    """One answer; ``seq`` is the number of the event that asked, ``question`` the digest of what was asked."""

    run_id: str
    step_key: str
    name: str
    seq: int
    question: str
    value: str
    """The line, masked; of an attachment the name of the file below ``uploads``."""
    by: str
    at: str
    declined: str | None = None
    """Why the question was declined, masked; ``None`` when it was answered."""


def question_digest(question: Mapping[str, object]) -> str:
    """Return the digest of a question as the trace has it: an answer counts for this question only."""
    shown = [question.get("name"), question.get("kind"), question.get("prompt"), list(_items(question))]
    return "sha256:" + sha256(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _items(question: Mapping[str, object]) -> list[object]:
    items = question.get("items")
    return items if isinstance(items, list) else []


class AnswerStore:
    """The directory ``answers`` of a run; files are private or shared by its group, and links are not followed."""

    def __init__(self, run: Path) -> None:
        self._folder = run / FOLDER

    def find(self, seq: int) -> StoredAnswer | None:
        """Return the answer to the question with this number; raise ``UnreadableError`` when it is damaged."""
        path = self._folder / f"{seq}.json"
        found = read_file_info(path, limit=LIMIT)
        if found is None:
            return None
        data, info = found
        if info.st_nlink > 1:
            raise UnreadableError(path, f"has {info.st_nlink} names, and may be an answer to something else")
        answer = decode_record(data, StoredAnswer, path=path)
        if answer.seq != seq:
            raise UnreadableError(path, "is damaged: it is the answer to another question")
        return answer

    def all(self) -> list[StoredAnswer | UnreadableError]:
        """Return every answer in the order of the questions; of an unreadable one the error."""
        numbers = sorted(int(match[1]) for name in list_names(self._folder) if (match := _NAME.fullmatch(name)))
        return [found for number in numbers if (found := self._read(number)) is not None]

    def _read(self, seq: int) -> StoredAnswer | UnreadableError | None:
        try:
            return self.find(seq)
        except UnreadableError as error:
            return error

    def put(self, answer: StoredAnswer) -> None:
        """Store an answer on disk; raise ``FileExistsError`` when the question has one."""
        Sharing.of(self._folder.parent).make_directory(self._folder)
        path = self._folder / f"{answer.seq}.json"
        beside = self._folder / f".{answer.seq}.{secrets.token_hex(6)}"
        try:
            _write(beside, json.dumps(to_builtins(answer), ensure_ascii=False, indent=2), Sharing.of(self._folder))
            try:
                os.link(beside, path, follow_symlinks=False)
            finally:
                with suppress(OSError):
                    beside.unlink()
            sync_name(path)
        except FileExistsError:
            raise
        except OSError as error:
            message = f"the answer {path} cannot be written: {error.strerror}"
            raise RunError(message, kind=ErrorKind.RUN_DIRECTORY, file=str(path)) from error


def _write(path: Path, text: str, sharing: Sharing) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        sharing.give(stream.fileno())
        stream.write(text.encode("utf-8", "surrogatepass") + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def answered(run: Path, questions: Iterable[Mapping[str, Any]]) -> dict[int, StoredAnswer]:
    """Return by number the answers to open questions of a run; one that cannot be read is none."""
    found: dict[int, StoredAnswer] = {}
    for question in questions:
        with suppress(UnreadableError):
            if (answer := AnswerStore(run).find(int(question["seq"]))) is not None:
                found[answer.seq] = answer
    return found


__all__ = ["FOLDER", "UPLOADS", "AnswerStore", "StoredAnswer", "answered", "question_digest"]
