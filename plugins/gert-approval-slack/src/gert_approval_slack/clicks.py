"""Read what Slack sends when somebody clicks a button, signed over HTTP or over Socket Mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct

from gert_approval_slack.blocks import APPROVE, REJECT
from gert_core.kit.json_reader import decode_as

if TYPE_CHECKING:
    from gert_core.api import CallbackRequest

LARGEST: Final = 256 * 1024
"""The most bytes of a request that are read."""
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}")
_ID: Final = re.compile(r"[A-Z][A-Z0-9]{1,40}")
_VALUE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,200})\|([A-Za-z0-9][A-Za-z0-9_-]{0,127})")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")


class NoClickError(Exception):
    """What was received is not a click of ours; the message is for the log of the server only."""


class Click(Struct, frozen=True, kw_only=True):
    """One click: what was decided, about which ticket, and by whom, by ids that people cannot change."""

    approved: bool
    run_id: str
    ticket_id: str
    team: str
    user: str
    channel: str = ""
    ts: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """Who clicked, as policies have it under ``slack: TEAM/USER``."""
        return {"provider": "slack", "tenant": self.team, "user": self.user}


def is_from_slack(request: CallbackRequest, secret: str) -> bool:
    """Return whether a request was signed with the app's secret over these very bytes, at most five minutes ago."""
    from slack_sdk.signature import Clock, SignatureVerifier

    moment = request.now.timestamp()

    class Now(Clock):
        def now(self) -> float:
            return moment

    stamp, signature = request.header("x-slack-request-timestamp"), request.header("x-slack-signature")
    if stamp is None or signature is None or not _TIMESTAMP.fullmatch(stamp) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        return SignatureVerifier(secret, Now()).is_valid(request.body, stamp, signature)
    except UnicodeDecodeError:
        return False


def payload_of(body: bytes) -> Any:
    """Return the payload of a form, which has one field of that name and no other; raise ``NoClickError``."""
    if len(body) > LARGEST:
        raise NoClickError("it is too large")
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise NoClickError("it is not a form") from None
    if [name for name, _ in fields] != ["payload"]:
        raise NoClickError("it has not exactly one field, payload")
    return decoded(fields[0][1])


def decoded(text: str) -> Any:
    """Return a JSON document; raise ``NoClickError``."""
    try:
        return decode_as(text, object)
    except ValueError:
        raise NoClickError("it is not JSON") from None


def click_of(payload: Any) -> Click | None:
    """Return the click in a payload; None for what Slack sends about other parts of the app; raise ``NoClickError``.

    Names of people, teams and channels in it are what somebody chose: none of them is read.
    """
    if not isinstance(payload, dict):
        raise NoClickError("it is not an object")
    if payload.get("type") != "block_actions":
        return None
    actions = payload.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise NoClickError("it has no actions")
    ours = [action for action in actions if action.get("action_id") in (APPROVE, REJECT)]
    if not ours:
        return None
    if len(actions) != 1:
        raise NoClickError("it has more than one action")
    value = _VALUE.fullmatch(_text(ours[0], "value"))
    if value is None or ours[0].get("type") != "button":
        raise NoClickError("its button is not one of ours")
    user = _part(payload, "user")
    home = str(user.get("team_id") or "")
    team = _text(_part(payload, "team"), "id") if isinstance(payload.get("team"), dict) else home
    if home and home != team:
        # Channels can be shared with other organisations: their people belong to their own team.
        team = home
    container = _part(payload, "container") if isinstance(payload.get("container"), dict) else {}
    channel, ts = str(container.get("channel_id") or ""), str(container.get("message_ts") or "")
    if not _ID.fullmatch(team) or not _ID.fullmatch(_text(user, "id")):
        raise NoClickError("it does not say who clicked")
    return Click(
        approved=ours[0]["action_id"] == APPROVE,
        run_id=value[1],
        ticket_id=value[2],
        team=team,
        user=_text(user, "id"),
        channel=channel if _ID.fullmatch(channel) else "",
        ts=ts if _TS.fullmatch(ts) else "",
    )


def _part(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    if not isinstance(value, dict):
        raise NoClickError(f"it has no {name}")
    return value


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise NoClickError(f"it has no {name}")
    return value


__all__ = ["LARGEST", "Click", "NoClickError", "click_of", "decoded", "is_from_slack", "payload_of"]
