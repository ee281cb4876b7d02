"""A workflow of Teams on loopback that checks what it receives against the documented message and card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gert_core.testing.receivers import Got, Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=secret-signature"
ELEMENTS = {"RichTextBlock": {"type", "inlines"}, "TextRun": {"type", "text", "size", "weight", "isSubtle", "fontType"}}
STYLES = {"size": {"Large"}, "weight": {"Bolder"}, "isSubtle": {True}, "fontType": {"Monospace"}}


class TeamsFake:
    """A server for ``with``: ``cards`` are those it was sent, ``mischief`` are answers instead of 202."""

    def __init__(self) -> None:
        self.cards: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.mischief: list[Any] = []
        self.calls = 0

    def __enter__(self) -> TeamsFake:
        self._receiver = Receiver(answers=[self._answer]).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._receiver.__exit__()
        assert not self.problems, self.problems

    @property
    def url(self) -> str:
        return self._receiver.url(PATH)

    def _answer(self, got: Got) -> Any:
        self.calls += 1
        if self.mischief:
            return self.mischief.pop(0)
        found = json.loads(got.body)
        self.problems += list(faults(found, got))
        self.cards.append(found["attachments"][0]["content"])
        return (202, {"body": b""})


def faults(message: Any, got: Got) -> Iterator[str]:
    """What is not as documented."""
    if len(got.body) > 28 * 1024:
        yield "larger than 28 KiB"
    if not got.headers.get("content-type", "").startswith("application/json"):
        yield "not JSON"
    if got.path != PATH:
        yield f"another path: {got.path}"
    if set(message) != {"type", "attachments"} or message["type"] != "message" or len(message["attachments"]) != 1:
        yield "not a message with one attachment"
    (attachment,) = message["attachments"]
    if attachment["contentType"] != "application/vnd.microsoft.card.adaptive" or attachment["contentUrl"] is not None:
        yield "not an adaptive card"
    card = attachment["content"]
    if (card["type"], card["version"]) != ("AdaptiveCard", "1.4") or not card["$schema"].startswith("http"):
        yield "not a card of version 1.4"
    for action in card["actions"]:
        if set(action) != {"type", "title", "url"} or action["type"] != "Action.OpenUrl":
            yield f"another action: {action}"
    for block in card["body"]:
        yield from _element(block)
        for run in block["inlines"]:
            yield from _element(run)
            yield from (f"{n}: {run[n]}" for n in STYLES if n in run and run[n] not in STYLES[n])


def _element(element: dict[str, Any]) -> Iterator[str]:
    known = ELEMENTS.get(element.get("type", ""))
    if known is None or set(element) - known:
        yield f"not an element: {element}"


def text_of(card: dict[str, Any]) -> str:
    """The texts of a card, a line per block."""
    return "\n".join("".join(run["text"] for run in block["inlines"]) for block in card["body"])
