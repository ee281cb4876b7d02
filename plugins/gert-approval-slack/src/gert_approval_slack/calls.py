"""Call a method of Slack's Web API within a time, and say in a sentence what went wrong.

The SDK limits each wait for the network by itself, so a peer that sends a byte now and then could hold a call for
ever. The call therefore has a thread of its own, and is left alone when the time is over.
"""

from __future__ import annotations

import logging
import threading
from math import ceil
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import WebClient

from gert_core.kit.ticket_sessions import NotSentError

if TYPE_CHECKING:
    from collections.abc import Mapping

_AGAIN: Final = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "request_timeout", "service_unavailable"}
)
_UNSURE: Final = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable"})
"""What Slack answers when part of the call may have been done."""
_HINTS: Final = {
    "channel_not_found": "check approvals.config.channel, and invite the app to the channel if it is private",
    "not_in_channel": "invite the app to the channel: /invite @gert",
    "is_archived": "choose another channel in approvals.config.channel",
    "invalid_auth": "check the bot token; the app may have been removed from the workspace",
    "not_authed": "check the bot token",
    "token_revoked": "install the app again, and use its new bot token",
    "token_expired": "use a token that has not expired",
    "account_inactive": "install the app again, and use its new bot token",
    "missing_scope": "add the scope chat:write to the app, and install it again",
    "restricted_action": "an administrator of the workspace restricts who may post there",
}


class SlackCalls:
    """The Web API with one token."""

    def __init__(self, token: str, api_url: str) -> None:
        self._token = token
        self._api_url = api_url

    def call(
        self, method: str, arguments: Mapping[str, Any], *, seconds: float, form: bool = False
    ) -> Mapping[str, Any]:
        """Return the answer to a call, sent as JSON or as a ``form``; raise ``NotSentError``."""
        client = web_client(self._token, self._api_url, seconds)
        done = threading.Event()
        answers: list[Mapping[str, Any]] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                sent = dict(arguments)
                found = client.api_call(method, params=sent) if form else client.api_call(method, json=sent)
                answers.append(_answered(found.data))
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        threading.Thread(target=work, daemon=True, name=f"slack-{method}").start()
        done.wait(seconds)
        if answers:
            return answers[0]
        raise problem_of(errors[0] if errors else None, seconds)

    def attempt(self, method: str, arguments: Mapping[str, Any], *, seconds: float = 10.0) -> NotSentError | None:
        """Make a call beside a decision; return why it was not done, None when it was."""
        try:
            self.call(method, arguments, seconds=seconds)
        except NotSentError as error:
            return error
        return None


def web_client(token: str | None, api_url: str, seconds: float = 30.0) -> WebClient:
    """Return a client of the SDK that neither logs nor tries again, and honours ``NO_PROXY``."""
    client = WebClient(token=token, base_url=api_url, timeout=ceil(seconds), retry_handlers=[], logger=quiet_logger())
    parts = urlsplit(api_url)
    client.proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    return client


def quiet_logger() -> logging.Logger:
    """Return a logger that writes nothing: the SDK logs whole messages, which only approvers are to see."""
    return logging.Logger("slack_sdk", logging.CRITICAL + 1)


def _answered(data: object) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("the answer is not an object")
    return data


def problem_of(error: BaseException | None, seconds: float = 30.0) -> NotSentError:
    """Return what went wrong; messages of the SDK may have what was sent."""
    if error is None or isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return NotSentError(f"Slack did not answer within {seconds:.0f} s", unsure=True)
    if isinstance(error, SlackApiError):
        return _refused(error)
    if isinstance(error, (OSError, SlackClientError)):
        reason = getattr(error, "reason", error)
        refused = isinstance(reason, ConnectionRefusedError) or type(reason).__name__ == "gaierror"
        return NotSentError(f"Slack cannot be reached ({type(reason).__name__})", unsure=not refused)
    return NotSentError(f"Slack's answer cannot be used ({type(error).__name__})", unsure=True)


def _refused(error: SlackApiError) -> NotSentError:
    data = error.response.data if isinstance(error.response.data, dict) else {}
    status, code = error.response.status_code, str(data.get("error") or "")
    if not code.replace("_", "").isalnum() or len(code) > 80:  # not a word of Slack's: a page of something else
        code = ""
    again = status == 429 or status >= 500 or code in _AGAIN
    return NotSentError(
        f"Slack answered {code}" if code else f"Slack answered with status {status}",
        code=code,
        hint=_HINTS.get(code, ""),
        final=not again and (bool(code) or 400 <= status < 500),
        wait=_seconds(error.response.headers) if status == 429 or "limited" in code else None,
        unsure=status >= 500 or code in _UNSURE or not (code or status == 429),
    )


def _seconds(headers: Mapping[str, Any]) -> float:
    """Return how long Slack asks to wait."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    text = str(value[0] if isinstance(value, list) else value).strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1.0


__all__ = ["SlackCalls", "problem_of", "quiet_logger", "web_client"]
