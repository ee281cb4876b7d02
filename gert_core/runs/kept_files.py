"""The files that a run keeps, as its trace recorded them: which of them are missing or have another content by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api.events import EventType
from gert_core.kit.json_reader import loads
from gert_core.runs.attachments import ATTACHMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = (b'"sha256"', b'"attachment"')
"""One of them is in every line that matters."""


class KeptFiles:
    """What the lines of a trace say about files of the run: artifacts, and evidence that a question asked for."""

    def __init__(self) -> None:
        self._digests: dict[str, set[str]] = {}
        self._sizes: dict[str, int] = {}
        self._asked: set[tuple[str, str]] = set()

    def note(self, line: bytes) -> None:
        """Take what a line says; one that says nothing that can be understood is passed over."""
        if not any(word in line for word in _WORDS):
            return
        try:
            event = _map(loads(line))
        except ValueError:
            return
        data = _map(event.get("data"))
        key, kind = str(event.get("step_key")), event.get("type")
        if kind == EventType.RUN_SUMMARY:
            self._take("", _map(_map(data.get("payload")).get("value")), "file")
        elif kind == EventType.QUESTION_ASKED:
            question = _map(data.get("question"))
            if question.get("kind") == "attachment":
                self._asked.add((key, str(question.get("name"))))
        elif kind == EventType.STEP_COMPLETE:
            for name, value in _map(data.get("outputs")).items():
                if (key, name) in self._asked:
                    self._take(f"{ATTACHMENTS}/", _map(value), "name")

    def size(self, name: str) -> int:
        """Return how large a file was, 0 for one that was not recorded."""
        return self._sizes.get(name, 0)

    def changed(self, digests: Mapping[str, str]) -> list[str]:
        """Return the names of recorded files that have another digest than these, or none."""
        return sorted(name for name, recorded in self._digests.items() if recorded != {digests.get(name)})

    def _take(self, folder: str, record: Mapping[str, Any], field: str) -> None:
        name, digest, size = (record.get(word) for word in (field, "sha256", "size"))
        if isinstance(name, str) and isinstance(digest, str) and isinstance(size, int):
            self._digests.setdefault(f"{folder}{name}", set()).add(digest)
            self._sizes[f"{folder}{name}"] = size


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


__all__ = ["KeptFiles"]
