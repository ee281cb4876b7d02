"""Socket Mode on loopback: the documented envelopes over a real WebSocket."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve


class SlackSocket:
    """A server for ``with``; ``send`` gives an envelope to whoever is connected, ``acknowledged`` are the answers."""

    def __init__(self) -> None:
        self.acknowledged: queue.Queue[str] = queue.Queue()
        self.connections: list[Any] = []
        self.connected = threading.Event()
        self.strange: list[Any] = []

    def __enter__(self) -> SlackSocket:
        self._server = serve(self._talk, "127.0.0.1", 0)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/link/?ticket=1&app_id=2"

    def send(self, payload: Any, envelope: str = "e-1") -> str:
        """Send a click, and return which envelope was acknowledged."""
        message = {"envelope_id": envelope, "type": "interactive", "accepts_response_payload": True, "payload": payload}
        self.connections[-1].send(json.dumps(message))
        return self.acknowledged.get(timeout=20)

    def drop(self) -> None:
        """End the connection as Slack does before it is replaced."""
        self.connected.clear()
        self.connections[-1].send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))
        self.connections[-1].close()

    def _talk(self, connection: Any) -> None:
        connection.send(json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0GERT001"}}))
        self.connections.append(connection)
        self.connected.set()
        try:
            for text in connection:
                answer = json.loads(text)
                if set(answer) - {"envelope_id", "payload"}:
                    self.strange.append(answer)
                self.acknowledged.put(answer["envelope_id"])
        except ConnectionClosed:
            pass
