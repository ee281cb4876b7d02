"""The documented shapes of what is sent to Slack: what is wrong with the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIRED = {
    "chat.postMessage": ("channel", "text"),
    "chat.update": ("channel", "ts", "text"),
    "chat.postEphemeral": ("channel", "user", "text"),
    "chat.getPermalink": ("channel", "message_ts"),
    "auth.test": (),
    "apps.connections.open": (),
}
KNOWN = {
    "chat.postMessage": {"channel", "text", "blocks", "thread_ts", "unfurl_links", "unfurl_media"},
    "chat.update": {"channel", "ts", "text", "blocks"},
    "chat.postEphemeral": {"channel", "user", "text"},
    "chat.getPermalink": {"channel", "message_ts"},
    "auth.test": set(),
    "apps.connections.open": set(),
}
FORMS = ("chat.getPermalink",)
"""Methods that take no JSON."""


def faults(method: str, arguments: dict[str, Any], content_type: str) -> list[str]:
    """What is not as documented in a call."""
    if method not in REQUIRED:
        return ["is no method that the app may call"]
    found = [f"{name} is missing" for name in REQUIRED[method] if not arguments.get(name)]
    found += [f"{name} is not an argument" for name in arguments if name not in KNOWN[method]]
    if method in FORMS and content_type.startswith("application/json"):
        found.append("takes a form, not JSON")
    if len(str(arguments.get("text", ""))) > 4000:
        found.append("text is longer than 4,000 characters")
    blocks = arguments.get("blocks", [])
    if len(blocks) > 50:
        found.append("has more than 50 blocks")
    if len(str(blocks)) > 13_000:
        found.append(f"msg_blocks_too_long: {len(str(blocks))}")
    return found + [fault for block in blocks for fault in _block(block)]


def _block(block: dict[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    if kind == "header":
        yield from _text(block["text"], 150, plain=True)
    elif kind == "section":
        if "text" in block:
            yield from _text(block["text"], 3000)
        fields = block.get("fields", [])
        if not ("text" in block or fields) or len(fields) > 10:
            yield "a section has a text or 1 to 10 fields"
        for one in fields:
            yield from _text(one, 2000)
    elif kind == "context":
        if not 1 <= len(block["elements"]) <= 10:
            yield "a context has 1 to 10 elements"
        for one in block["elements"]:
            yield from _text(one, 2000)
    elif kind == "actions":
        if not 1 <= len(block["elements"]) <= 25:
            yield "actions have 1 to 25 elements"
        for one in block["elements"]:
            yield from _button(one)
    else:
        yield f"{kind} is not a block that is sent"
    if len(block.get("block_id", "")) > 255:
        yield "block_id is too long"


def _button(button: dict[str, Any]) -> Iterator[str]:
    unknown = set(button) - {"type", "text", "action_id", "value", "style", "confirm"}
    if button.get("type") != "button" or unknown:
        yield f"is not a button: {button.get('type')} {unknown}"
    yield from _text(button["text"], 75, plain=True)
    if not 1 <= len(button["action_id"]) <= 255 or not 1 <= len(button["value"]) <= 2000:
        yield "action_id or value is too long"
    if button.get("style") not in (None, "primary", "danger"):
        yield f"style {button['style']}"
    if "confirm" in button:
        for name, size in (("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)):
            yield from _text(button["confirm"][name], size, plain=True)


def _text(text: dict[str, Any], size: int, *, plain: bool = False) -> Iterator[str]:
    allowed = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}
    kind = text.get("type")
    if kind not in allowed or set(text) - allowed[kind]:
        yield f"is not a text: {text}"
    elif plain and kind != "plain_text":
        yield "must be plain_text"
    if not 1 <= len(text.get("text", "")) <= size:
        yield f"a text has {len(text.get('text', ''))} characters, 1 to {size} are allowed"
