"""Slack on loopback: the documented methods, events of clicks, and Socket Mode; it checks what it receives."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

from slack_shapes import faults

from gert_core.testing.receivers import Got, Receiver

TEAM, CHANNEL, ALICE, BOB, MALLORY = "T0ACME01", "C0CHANGES1", "U0ALICE01", "U0BOB0001", "U0MALLORY"
BOT_TOKEN, APP_TOKEN, SECRET = "xoxb-fake-bot", "xapp-fake-app", "8f742231b10e8888abcd99yyyzzz85a5"


def ratelimited(seconds: int) -> Any:
    """The documented answer to too many calls."""
    return (429, {"Retry-After": str(seconds), "body": b'{"ok": false, "error": "ratelimited"}'})


def refusal(code: str) -> Any:
    """The answer to a call that is refused: status 200, as documented."""
    return (200, {"Content-Type": "application/json", "body": json.dumps({"ok": False, "error": code}).encode()})


@dataclass
class SlackFake:
    """A server for ``with``; ``mischief`` are answers that the next calls get instead, by method or for any (``*``)."""

    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Every message by its time, as it is shown now."""
    ephemeral: list[dict[str, Any]] = field(default_factory=list)
    threads: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What was not as documented; tests end with none."""
    mischief: dict[str, list[Any]] = field(default_factory=dict)

    def __enter__(self) -> SlackFake:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._receiver = Receiver(answers=[self._answer]).__enter__()
        self.socket: Any = None
        return self

    def __exit__(self, *_: object) -> None:
        self._receiver.__exit__()
        assert not self.problems, self.problems

    @property
    def url(self) -> str:
        return self._receiver.url("/api")

    def of(self, method: str) -> list[dict[str, Any]]:
        """The calls of a method."""
        return [arguments for name, arguments in list(self.calls) if name == method]

    def until(self, method: str, count: int = 1, seconds: float = 20.0) -> list[dict[str, Any]]:
        end = time.monotonic() + seconds
        while len(self.of(method)) < count and time.monotonic() < end:
            time.sleep(0.01)
        found = self.of(method)
        assert len(found) >= count, f"{method}: {len(found)} calls in {seconds} s; {[name for name, _ in self.calls]}"
        return found

    def message(self) -> dict[str, Any]:
        """The newest message in the channel, as it is now; threads left out."""
        return dict(list(self.messages.values())[-1])

    def _answer(self, got: Got) -> Any:
        method = got.path.removeprefix("/api/")
        for name in (method, "*"):
            if self.mischief.get(name):
                return self.mischief[name].pop(0)
        expected = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        if got.headers.get("authorization") != f"Bearer {expected}":
            return refusal("invalid_auth")
        kind = got.headers.get("content-type", "")
        if kind.startswith("application/json"):
            arguments = json.loads(got.body or b"{}")
        else:
            arguments = {name: values[0] for name, values in parse_qs(got.body.decode()).items()}
        with self._lock:
            self.calls.append((method, arguments))
            self.problems += [f"{method}: {fault}" for fault in faults(method, arguments, kind)]
            return refusal_or(self._do(method, arguments))

    def _do(self, method: str, arguments: dict[str, Any]) -> dict[str, Any] | str:
        channel = arguments.get("channel")
        if method.startswith("chat.") and channel not in (CHANNEL, "#changes"):
            return "channel_not_found"
        if method == "chat.postMessage":
            ts = f"{int(time.time())}.{next(self._numbers):06}"
            entry = {"ts": ts, **arguments, "channel": CHANNEL}
            if "thread_ts" in arguments:
                if arguments["thread_ts"] not in self.messages:
                    return "thread_not_found"
                self.threads.append(entry)
            else:
                self.messages[ts] = entry
            return {"channel": CHANNEL, "ts": ts, "message": {"text": arguments.get("text"), "ts": ts}}
        if method == "chat.update":
            if arguments["ts"] not in self.messages:
                return "message_not_found"
            self.messages[arguments["ts"]] |= {"blocks": [], **arguments}
            return {"channel": CHANNEL, "ts": arguments["ts"], "text": arguments.get("text")}
        if method == "chat.postEphemeral":
            self.ephemeral.append(arguments)
            return {"message_ts": f"{int(time.time())}.000000"}
        if method == "chat.getPermalink":
            if arguments["message_ts"] not in self.messages:
                return "message_not_found"
            permalink = f"https://acme.slack.com/archives/{CHANNEL}/p{arguments['message_ts'].replace('.', '')}"
            return {"channel": CHANNEL, "permalink": permalink}
        if method == "auth.test":
            return {
                "url": "https://acme.slack.com/",
                "team": "Acme",
                "user": "gert",
                "team_id": TEAM,
                "user_id": "U0BOT",
            }
        if method == "apps.connections.open" and self.socket is not None:
            return {"url": self.socket.url}
        return "unknown_method"


def refusal_or(result: dict[str, Any] | str) -> Any:
    if isinstance(result, str):
        return refusal(result)
    return (200, {"Content-Type": "application/json", "body": json.dumps({"ok": True, **result}).encode()})


def click(message: dict[str, Any], action: str = "gert_approve", *, user: str = ALICE, team: str = TEAM) -> Any:
    """The payload of a click on a button of a message, as documented for block_actions."""
    (button,) = [
        element
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["action_id"] == action
    ]
    return {
        "type": "block_actions",
        "user": {"id": user, "username": "alice", "name": "alice", "team_id": team},
        "api_app_id": "A0GERT001",
        "token": "verification-token-that-is-deprecated",
        "container": {
            "type": "message",
            "message_ts": message["ts"],
            "channel_id": message["channel"],
            "is_ephemeral": False,
        },
        "trigger_id": f"12466734323.1395872398.{time.time_ns()}",
        "team": {"id": team, "domain": "acme"},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": message["channel"], "name": "changes"},
        "message": {"type": "message", "ts": message["ts"], "text": message["text"], "blocks": message["blocks"]},
        "state": {"values": {}},
        "response_url": "https://hooks.slack.com/actions/T0ACME01/1/x",
        "actions": [
            {
                "action_id": action,
                "block_id": "gert_decision",
                "text": button["text"],
                "value": button["value"],
                "style": button["style"],
                "type": "button",
                "action_ts": f"{time.time():.6f}",
            }
        ],
    }


def form(payload: Any) -> bytes:
    """The body that Slack posts."""
    return urlencode({"payload": json.dumps(payload)}).encode()


def signed(body: bytes, *, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """The headers that Slack sends with a body."""
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={digest}",
    }


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Post as Slack does, and return status and body."""
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def texts(message: dict[str, Any]) -> str:
    """All the texts of a message, one after the other."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("text"), str):
                found.append(value["text"])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(message["blocks"])
    return "\n".join(found)


def buttons(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [e for block in message["blocks"] if block["type"] == "actions" for e in block["elements"]]
