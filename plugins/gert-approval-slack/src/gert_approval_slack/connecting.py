"""Keep a connection to Slack open (Socket Mode): open it, say when there is none, and try again after a while.

The SDK opens connections in the thread of its caller, waits for a peer that sends a byte now and then for ever, and
says nothing when it cannot connect. So each try has a thread and a client of its own, which is left alone when its
time is over.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from slack_sdk.socket_mode.builtin import SocketModeClient

from gert_approval_slack.calls import SlackCalls, problem_of, quiet_logger, web_client
from gert_core.api import UsageError
from gert_core.kit.listening import LOOPBACK
from gert_core.kit.ticket_sessions import NotSentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_approval_slack.settings import SlackSettings
    from gert_core.api import Services
    from gert_core.hosting import Stop

    Take = Callable[..., None]

OPENING: Final = 10.0
"""Seconds in which Slack has to answer, and to open a connection."""
_LONGEST: Final = 60.0
"""The most seconds between two tries, unless Slack asks for more."""
_STEADY: Final = 10.0
"""Seconds after which a connection that ends is opened again at once."""
_LOOK: Final = 0.2
_CLOSING: Final = 3.0
_ENCRYPTED: Final = (None, 443)
"""The ports for which the SDK encrypts; to all others it would send clicks in plain text."""
_HINT: Final = "check the app-level token (scope connections:write), and that Socket Mode is on for the app"


class SlackConnection:
    """A connection to Slack; ``take`` is called with what comes over it, and ``say`` with what people should know."""

    def __init__(self, services: Services, settings: SlackSettings, take: Take, say: Callable[[str], object]) -> None:
        self._token = settings.app_token(services.environ)
        self._settings = settings
        self._take = take
        self._say = say
        self._client: _Client | None = None
        self._was = False
        self.refused: UsageError | None = None
        """Why there will be no connection."""

    def start(self, stop: Stop) -> None:
        """Connect, and stay connected until ``stop``, in a thread."""
        threading.Thread(target=self._keep, args=(stop,), name="slack-connection", daemon=True).start()

    def close(self) -> None:
        """Close the connection; what is told in Slack about clicks is left alone after a while."""
        if self._client is not None:
            _close(self._client).join(_CLOSING)

    def _keep(self, stop: Stop) -> None:
        tries = 0
        while not stop.thrown:
            try:
                client = self._open(stop)
            except NotSentError as error:
                if error.final and not self._was:
                    self.refused = UsageError(
                        f"cannot listen to Slack: {error}", hint=error.hint if error.code == "" else _HINT
                    )
                    return
                wait = max(min(2.0**tries, _LONGEST), error.wait or 0.0)
                tries += 1
                self._say(f"cannot listen to Slack now: {error}; trying again in {wait:.0f} s")
                stop.wait(wait)
                continue
            if client is None:
                return
            self._use(client)
            began = time.monotonic()
            while client.is_connected() and not client.replaced.is_set():
                if stop.wait(_LOOK):
                    return
            if not client.is_connected():
                self._say("the connection to Slack was lost")
            tries = 0 if time.monotonic() - began > _STEADY else tries + 1
            if tries:
                stop.wait(min(2.0 ** (tries - 1), _LONGEST))

    def _use(self, client: _Client) -> None:
        before, self._client = self._client, client
        if before is not None:
            _close(before)
        if before is None or not before.replaced_in_time:
            self._say("Listening to Slack again" if self._was else "Listening to Slack; stop with Ctrl-C")
        self._was = True

    def _open(self, stop: Stop) -> _Client | None:
        """Return a client that is connected; None when that is not wanted any more; raise ``NotSentError``."""
        attempt = _Attempt(self._token, self._settings, self._take)
        until = time.monotonic() + 2 * OPENING
        while not attempt.done.wait(_LOOK):
            if stop.thrown or time.monotonic() > until:
                attempt.leave()
                break
        if stop.thrown:
            attempt.leave()
            return None
        if attempt.client is not None:
            return attempt.client
        raise attempt.problem or NotSentError(f"Slack did not open a connection within {OPENING:.0f} s")


class _Attempt:
    """One try to connect, in a thread of its own; one that was left closes what it opens."""

    def __init__(self, token: str, settings: SlackSettings, take: Take) -> None:
        self.client: _Client | None = None
        self.problem: NotSentError | None = None
        self.done = threading.Event()
        self._lock = threading.Lock()
        self._left = False
        threading.Thread(target=self._work, args=(token, settings, take), name="slack-connect", daemon=True).start()

    def leave(self) -> None:
        """Want it no more."""
        with self._lock:
            self._left = True
            client, self.client = self.client, None
        if client is not None:
            _close(client)

    def _work(self, token: str, settings: SlackSettings, take: Take) -> None:
        try:
            calls = SlackCalls(token, settings.api_url)
            url = calls.call("apps.connections.open", {}, seconds=OPENING, form=True).get("url")
            client = _Client(token, settings.api_url, _usable(url), take)
            client.connect()
            if not client.is_connected():
                _close(client)
                raise problem_of(client.problem or ConnectionError(), OPENING)
        except NotSentError as error:
            self.problem = error
        except Exception as error:
            self.problem = problem_of(error)
        else:
            with self._lock:
                if not self._left:
                    self.client = client
            if self._left:
                _close(client)
        finally:
            self.done.set()


class _Client(SocketModeClient):
    """The SDK's client for one connection; it is asked for another one where the SDK would open it."""

    def __init__(self, token: str, api_url: str, url: str, take: Take) -> None:
        self.replaced = threading.Event()
        self.problem: Exception | None = None
        web = web_client(None, api_url)
        super().__init__(app_token=token, web_client=web, logger=quiet_logger())
        self.proxy = web.proxy
        self.wss_uri = url
        self.message_listeners.append(take)
        self.on_error_listeners.append(self._failed)

    @property
    def replaced_in_time(self) -> bool:
        """Whether Slack asked for another connection, so that nothing was lost."""
        return self.replaced.is_set() and self.is_connected()

    def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Have another client opened."""
        del force
        self.replaced.set()

    def _failed(self, error: Exception) -> None:
        self.problem = error


def _usable(url: Any) -> str:
    """Return the address of a connection; raise ``NotSentError`` for one that is none, or is not encrypted."""
    try:
        parts = urlsplit(url) if isinstance(url, str) and url.isprintable() and " " not in url else None
        here = parts is not None and parts.hostname in LOOPBACK and parts.scheme in ("ws", "wss") and parts.port != 0
        if parts is not None and (here or (parts.scheme == "wss" and parts.hostname and parts.port in _ENCRYPTED)):
            return str(url)
    except ValueError:
        pass
    raise NotSentError(
        "Slack gave an address that cannot be used",
        final=True,
        hint="an address begins with wss:// and has no other port than 443; check approvals.config.api_url",
    )


def _close(client: SocketModeClient) -> threading.Thread:
    """Close a client in a thread: it waits for what is told about clicks."""
    thread = threading.Thread(target=client.close, name="slack-close", daemon=True)
    thread.start()
    return thread


__all__ = ["OPENING", "SlackConnection"]
