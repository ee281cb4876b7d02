"""Rules that say who is told of what: ``notify`` of a project and ``on_outcome`` of a runbook, one by one."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from pydantic import ConfigDict, Field

from gert_core.documents.fields import Duration, Given, Model, OneOrMany

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Event = Literal[
    "resolved",
    "escalated",
    "no_action",
    "needs_rca",
    "failed",
    "error",
    "cancelled",
    "approval_pending",
    "answer_pending",
    "blocked",
    "interrupted",
    "expired",
]
"""What people can be told of: the categories of outcomes, other ends of runs, and what runs wait for."""
OWN: Final = frozenset({"on", "remind"})
"""The fields of a rule that are not a notifier's."""


class NotifyModel(Model):
    """A rule about who is told; its other fields belong to the notifiers that name them."""

    model_config = ConfigDict(extra="allow")

    on: OneOrMany[Event] = Field(description="What people are told of.", min_length=1)
    remind: Given[Duration] = Field(default=None, description="How often they are reminded of what a run waits for.")


class NotifyFile(Model):
    """A file with rules, as `gert watch --config` takes it."""

    notify: list[NotifyModel] = Field(default_factory=list, description="Who is told of what.")


class NotifyRule(Struct, frozen=True, kw_only=True):
    """One field of a rule that may be a notifier's, and where it stands."""

    on: tuple[str, ...]
    key: str
    value: Any
    beside: Mapping[str, Any]
    """The other fields of the same rule."""
    path: tuple[str | int, ...]
    remind: float | None = None

    @property
    def place(self) -> str:
        """Return where it stands in its document: ``notify/0/webhook``."""
        return "/".join(map(str, self.path))

    def digest(self, options: Iterable[str]) -> str:
        """Return the SHA-256 of what it says, with these options beside it; it does not tell what that is."""
        chosen = {name: self.beside[name] for name in sorted(options) if name in self.beside}
        said = {"on": list(self.on), "key": self.key, "value": self.value, "options": chosen, "remind": self.remind}
        text = json.dumps(said, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def rules_of(document: object) -> Iterator[NotifyRule]:
    """Yield the rules of a valid project, runbook or file with rules, given as its content."""
    if not isinstance(document, dict):
        return
    for number, rule in enumerate(document.get("notify") or ()):
        model = NotifyModel.model_validate(rule)
        fields = {name: value for name, value in rule.items() if name not in OWN}
        yield from _of(tuple(model.on), fields, ("notify", number), model.remind)
    meta = document.get("meta")
    told = meta.get("on_outcome") if isinstance(meta, dict) else None
    for category, fields in told.items() if isinstance(told, dict) else ():
        if isinstance(fields, dict):
            yield from _of((str(category),), fields, ("meta", "on_outcome", str(category)), None)


def _of(
    on: tuple[str, ...], fields: Mapping[str, Any], path: tuple[str | int, ...], remind: float | None
) -> Iterator[NotifyRule]:
    for key, value in fields.items():
        beside = {name: other for name, other in fields.items() if name != key}
        yield NotifyRule(on=on, key=str(key), value=value, beside=beside, path=(*path, str(key)), remind=remind)


def is_address(value: object) -> bool:
    """Return whether a value is an address as it is written in a document, which may be a secret."""
    return isinstance(value, str) and "://" in value


__all__ = ["OWN", "Event", "NotifyFile", "NotifyModel", "NotifyRule", "is_address", "rules_of"]
