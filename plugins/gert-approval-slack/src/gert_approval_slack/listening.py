"""Receive clicks over Socket Mode: a connection that this machine opens, so that nothing has to reach it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from slack_sdk.socket_mode.response import SocketModeResponse

from gert_approval_slack.clicks import NoClickError, click_of
from gert_approval_slack.connecting import SlackConnection
from gert_approval_slack.deciding import decide
from gert_approval_slack.settings import read_settings
from gert_core.api import GertError
from gert_core.kit.log import warning

if TYPE_CHECKING:
    from collections.abc import Callable

    from slack_sdk.socket_mode.client import BaseSocketModeClient

    from gert_approval_slack.settings import SlackSettings
    from gert_core.api import Services
    from gert_core.hosting import Host, Stop

_MOMENT: Final = 0.2
_LOOK: Final = 2.0
"""Seconds between two looks for messages to rewrite."""


class SlackListener:
    """A connection to Slack, and what is done with what comes over it."""

    def __init__(self, host: Host, services: Services, settings: SlackSettings, say: Callable[[str], object]) -> None:
        self._host = host
        self._services = services
        self._settings = settings
        self._connection = SlackConnection(services, settings, self._take, say)

    def receive(self, stop: Stop) -> None:
        """Connect, and rewrite messages until ``stop``; raise ``UsageError`` when Slack refuses the connection."""
        self._connection.start(stop)
        looked = time.monotonic()
        try:
            while not stop.wait(_MOMENT):
                if self._connection.refused is not None:
                    raise self._connection.refused
                if time.monotonic() - looked >= _LOOK:
                    self._look()
                    looked = time.monotonic()
        finally:
            self._connection.close()

    def _look(self) -> None:
        try:
            self._host.update_messages()
        except (GertError, OSError) as error:
            warning("approvals", "messages are not rewritten now: %s", error)

    def _take(self, client: BaseSocketModeClient, message: dict[str, Any], raw: str | None = None) -> None:
        """Take one envelope: the answer is written before it is acknowledged, so that Slack sends it again if not."""
        envelope = message.get("envelope_id")
        if not isinstance(envelope, str):
            return  # a greeting, or that the connection is to be replaced, which the SDK does
        after = None
        if message.get("type") == "interactive":
            payload = message.get("payload")
            try:
                click = click_of(payload)
            except NoClickError as error:
                warning("approvals", "a message of Slack cannot be used: %s", error)
                click = None
            if click is not None:
                # The envelope of a click that is sent again is another one, so it does not belong to the evidence.
                received = json.dumps(payload, sort_keys=True).encode()
                after = decide(click, received, self._services, self._settings)
        client.send_socket_mode_response(SocketModeResponse(envelope_id=envelope))
        if after is not None:
            after()


def listen(host: Host, stop: Stop, say: Callable[[str], object]) -> None:
    """Take answers from Slack until ``stop``; ``say`` is called with sentences about the connection."""
    services = host.provider_services("slack")
    settings = read_settings(services.config)
    SlackListener(host, services, settings, say).receive(stop)


__all__ = ["SlackListener", "listen"]
