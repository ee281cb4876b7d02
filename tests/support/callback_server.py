"""A real HTTP server on loopback that mounts the callbacks of a host, as ``gert web`` does."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from gert_core.api import CallbackRequest

if TYPE_CHECKING:
    from gert_core.hosting import Host


class CallbackServer:
    """A server for ``with``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __enter__(self) -> CallbackServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._host))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/callbacks/{path}"


def _handler(host: Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            provider, slash, rest = self.path.removeprefix("/callbacks/").partition("/")
            headers = tuple((name.lower(), value) for name, value in self.headers.items())
            request = CallbackRequest(
                method=self.command, path=slash + rest, headers=headers, body=body, now=datetime.now(UTC)
            )
            reply: Any = host.callback(provider, request)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            if reply.after is not None:
                threading.Thread(target=reply.after, daemon=True).start()

        def do_GET(self) -> None:
            """Do the same."""
            self.do_POST()

    return Handler
