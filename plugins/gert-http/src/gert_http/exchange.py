"""One HTTP request and its answer: within a time, without redirects, and never more than a bounded part of the answer.

The library limits each wait for the network by itself, so a peer that sends a byte now and then could hold a request
for ever. The exchange therefore has a thread of its own, and is left alone when the time is over.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping  # noqa: TC003 - part of a record
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Deadline

LARGEST: Final = 256 * 1024
"""The most bytes that are sent, and that are read of an answer."""
_CONNECT: Final = 5.0
"""The longest that a connection may take, in seconds."""


class HttpResponse(Struct, frozen=True, kw_only=True):
    """What a server answered; names of headers are in lower case, and ``body`` is its first ``LARGEST`` bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class NoAnswerError(Exception):
    """There was no answer. The message never has the address; ``final``: another try would not change that.

    ``unsent``: nothing was sent, so that nothing can have arrived.
    """

    def __init__(self, message: str, *, final: bool = False, unsent: bool = False) -> None:
        super().__init__(message)
        self.final = final
        self.unsent = unsent or final


class _Exchange:
    """What the thread of a request leaves behind."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.answer: HttpResponse | None = None
        self.error: BaseException | None = None


def post(url: str, body: bytes, headers: Mapping[str, str], deadline: Deadline | float) -> HttpResponse:
    """Post a body and return the answer, whatever its status is; raise ``NoAnswerError`` when there is none.

    Only ``http`` and ``https`` are spoken. A redirect is an answer like any other: it is not followed. Proxies and
    certificates are those of the machine. ``deadline`` may be a number of seconds.
    """
    return _exchanged("POST", url, body, {**headers, "Content-Length": str(len(body))}, deadline)


def get(url: str, headers: Mapping[str, str], deadline: Deadline | float) -> HttpResponse:
    """Fetch what is at an address, in the same way."""
    return _exchanged("GET", url, b"", headers, deadline)


def _exchanged(method: str, url: str, body: bytes, sent: Mapping[str, str], deadline: Deadline | float) -> HttpResponse:
    _check(url, body)
    exchange = _Exchange()
    seconds = deadline if isinstance(deadline, float) else deadline.remaining()
    limit = 30.0 if seconds is None else max(seconds, 0.0)
    work = threading.Thread(target=_run, args=(exchange, method, url, body, sent, limit), daemon=True)
    work.start()
    undo = None if isinstance(deadline, float) else deadline.on_stop(exchange.over.set)
    try:
        exchange.over.wait(limit)
    finally:
        if undo is not None:
            undo()
    if exchange.answer is not None:
        return exchange.answer
    if exchange.error is None:  # the thread has not ended: what it waits for ends with the connection
        raise NoAnswerError(f"no answer within {limit:.1f} s")
    raise _no_answer(exchange.error) from None


def _check(url: str, body: bytes) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() or not character.isprintable() for character in url):
        raise NoAnswerError("the address is not one that begins with http:// or https://", final=True)
    if len(body) > LARGEST:
        raise NoAnswerError(f"there are {len(body)} bytes to send, and no more than {LARGEST} are", final=True)


def _run(exchange: _Exchange, method: str, url: str, body: bytes, headers: Mapping[str, str], limit: float) -> None:
    """Make the request; what it comes to is in ``exchange``. Certificates are read only for ``https``."""
    try:
        timeout = httpx2.Timeout(limit, connect=min(limit, _CONNECT))
        with (
            httpx2.Client(follow_redirects=False, timeout=timeout, verify=url.startswith("https:")) as client,
            client.stream(
                method, url, content=_body(exchange, body) if method == "POST" else None, headers=headers
            ) as response,
        ):
            read = bytearray()
            # Raw, so that a small answer cannot unpack to a large one.
            for part in response.iter_raw(64 * 1024):
                read += part
                if len(read) >= LARGEST or exchange.over.is_set():
                    break
            found = {name.lower(): value for name, value in response.headers.items()}
            exchange.answer = HttpResponse(status=response.status_code, headers=found, body=bytes(read[:LARGEST]))
    except BaseException as error:
        exchange.error = error
    finally:
        exchange.over.set()


def _body(exchange: _Exchange, body: bytes) -> Iterator[bytes]:
    """Yield what is sent, unless the time was over before there was a connection: then it is not sent at all."""
    if exchange.over.is_set():
        raise TimeoutError
    yield body


def _no_answer(error: BaseException) -> NoAnswerError:
    """Return what went wrong in a sentence; messages of the library may have the address in them."""
    if isinstance(error, httpx2.TimeoutException):
        return NoAnswerError("no answer in time")
    if isinstance(error, httpx2.ConnectError):
        return NoAnswerError("no connection", unsent=True)
    if isinstance(error, httpx2.RemoteProtocolError):
        return NoAnswerError("the connection ended, or the answer is not HTTP")
    if isinstance(error, httpx2.TransportError):
        return NoAnswerError(f"the connection was lost ({type(error).__name__})")
    if isinstance(error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        return NoAnswerError("the address cannot be used", final=True)
    return NoAnswerError(f"the request failed ({type(error).__name__})")


__all__ = ["LARGEST", "HttpResponse", "NoAnswerError", "get", "post"]
