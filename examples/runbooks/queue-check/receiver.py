"""Print what is posted to it, for trying notifications: ``python3 receiver.py 8085``."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Hook(BaseHTTPRequestHandler):
    """Takes every notification, and prints its text."""

    def do_POST(self) -> None:
        """Take one."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(f"{told['text']}\n", flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print no access log."""


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Hook)
print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
