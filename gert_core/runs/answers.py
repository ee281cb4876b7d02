"""Store the answers that people give while a run is suspended: one blob per question, which is never replaced."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.kit.files import MIB, UnreadableError, decode_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api.stores import StoredRun

FOLDER: Final = "answers"
UPLOADS: Final = "uploads"
"""The directory of files that are answers, until their step takes them."""
LIMIT: Final = MIB
"""The largest file with an answer."""
_SHOWN: Final = 200
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


def blob_name(seq: int) -> str:
    """Return the name of the blob with the answer to the question with this number."""
    return f"{FOLDER}/{seq}.json"


def _fault_of(name: str) -> str | None:
    """Return why a name is not that of a person who answers; ``gert answer`` stores no such answer."""
    from gert_core.governance.people import id_fault, is_agent

    return "is an agent" if is_agent(name) else id_fault(name)


def _items(question: Mapping[str, object]) -> list[object]:
    items = question.get("items")
    return items if isinstance(items, list) else []


class AnswerStore:
    """The blobs below ``answers`` of a run, each written once."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run

    def find(self, seq: int) -> StoredAnswer | None:
        """Return the answer to the question with this number; raise ``UnreadableError`` when it is damaged."""
        name = blob_name(seq)
        where = self._run.where(name)
        found = self._run.blob(name, limit=LIMIT)
        if found is None:
            return None
        if found.links > 1:
            raise UnreadableError(where, f"has {found.links} names, and may be an answer to something else")
        answer = decode_record(found.data, StoredAnswer, path=where)
        if answer.seq != seq:
            raise UnreadableError(where, "is damaged: it is the answer to another question")
        if (fault := _fault_of(answer.by)) is not None:
            raise UnreadableError(where, f"is not an answer by a person: {answer.by[:_SHOWN]!a} {fault}")
        return answer

    def all(self) -> list[StoredAnswer | UnreadableError]:
        """Return every answer in the order of the questions; of an unreadable one the error."""
        names = [name.removeprefix(f"{FOLDER}/") for name in self._run.names(f"{FOLDER}/")]
        numbers = sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))
        return [found for number in numbers if (found := self._read(number)) is not None]

    def _read(self, seq: int) -> StoredAnswer | UnreadableError | None:
        try:
            return self.find(seq)
        except UnreadableError as error:
            return error

    def put(self, answer: StoredAnswer) -> None:
        """Store an answer durably; raise ``StoreError`` of kind ``blob_exists`` when the question has one."""
        name = blob_name(answer.seq)
        text = json.dumps(to_builtins(answer), ensure_ascii=False, indent=2)
        try:
            self._run.put(name, text.encode("utf-8", "surrogatepass") + b"\n", new=True)
        except StoreError as error:
            if error.kind == ErrorKind.BLOB_EXISTS:
                raise
            where = self._run.where(name)
            raise RunError(f"the answer {error.message}", kind=ErrorKind.RUN_DIRECTORY, file=where) from error


def answered(run: StoredRun, questions: Iterable[Mapping[str, Any]]) -> dict[int, StoredAnswer]:
    """Return by number the answers to open questions of a run; one that cannot be read is none."""
    found: dict[int, StoredAnswer] = {}
    for question in questions:
        with suppress(UnreadableError):
            if (answer := AnswerStore(run).find(int(question["seq"]))) is not None:
                found[answer.seq] = answer
    return found


__all__ = ["FOLDER", "UPLOADS", "AnswerStore", "StoredAnswer", "answered", "blob_name", "question_digest"]
