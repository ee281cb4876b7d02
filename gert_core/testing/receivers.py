"""A real HTTP server on loopback that answers as a test says, for notifiers and others that post something."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

HANG: Final = "hang"
"""An answer that never comes."""
RESET: Final = "reset"
"""A connection that is reset instead."""
DRIBBLE: Final = "dribble"
"""An answer that comes a byte now and then."""
FLOOD: Final = "flood"
"""An answer of a gigabyte."""
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Got:
    """One request; names of headers are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    method: str = "POST"

    @property
    def document(self) -> Any:
        """Return the body, which is JSON."""
        return json.loads(self.body)


@dataclass(kw_only=True)
class Receiver:
    """A server for ``with``. ``answers`` are taken in turn, and the last one for ever: a status, a status with headers
    (and ``body``), one of ``HANG``, ``RESET``, ``DRIBBLE`` and ``FLOOD``, or a function that returns one of these for
    a request. ``got`` are the requests so far.
    """

    answers: list[Any] = field(default_factory=lambda: [200])
    got: list[Got] = field(default_factory=list)
    flooded: int = 0
    """How many bytes of a flood were taken."""

    def __enter__(self) -> Receiver:
        """Start to listen."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._over = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/hook") -> str:
        """Return an address at which it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def until(self, number: int, seconds: float = 10.0) -> list[Got]:
        """Return the requests as soon as there are so many; fail when there are not in time."""
        end = time.monotonic() + seconds
        while len(self.got) < number and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.got) >= number, f"{len(self.got)} requests in {seconds} s"
        return self.got

    def _next(self) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_POST(self) -> None:
            """Take a request and answer as the test says."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Got(path=self.path, headers=headers, body=body, at=time.monotonic(), method=self.command)
            receiver.got.append(got)
            self.close_connection = True
            answer = receiver._next()
            with suppress(OSError):  # the client has gone, as it should
                self._answer(answer(got) if callable(answer) else answer)

        def do_GET(self) -> None:
            """Do the same."""
            self.do_POST()

        def _answer(self, answer: Any) -> None:
            if answer == HANG:
                receiver._over.wait(30)
            elif answer == RESET:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            elif answer == DRIBBLE:
                for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
                    self.wfile.write(bytes([byte]))
                    receiver._over.wait(0.05)
            elif answer == FLOOD:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                for _ in range(1024):
                    self.wfile.write(b"x" * _MIB)
                    receiver.flooded += _MIB
            else:
                status, more = answer if isinstance(answer, tuple) else (answer, {})
                text = more.get("body", b"{}")
                self.send_response(status)
                for name, value in more.items():
                    if name != "body":
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

    return Handler


__all__ = ["DRIBBLE", "FLOOD", "HANG", "RESET", "Got", "Receiver"]
