"""JSON-RPC 2.0 over the standard streams of a child process: one message per line, calls from any thread."""

from __future__ import annotations

from gert_jsonrpc.client import Client
from gert_jsonrpc.errors import PeerError, PeerFault, RpcError

__all__ = ["Client", "PeerError", "PeerFault", "RpcError"]
