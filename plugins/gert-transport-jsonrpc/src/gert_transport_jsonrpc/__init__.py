"""The transport ``jsonrpc``: one persistent process per tool and run."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Transport


@hookimpl
def gert_transports() -> list[Transport]:
    """Register ``jsonrpc``."""
    return [
        Transport(
            name="jsonrpc",
            open="gert_transport_jsonrpc.session:JsonRpcSession",
            starts_program=True,
            requires=("method",),
            summary="Calls methods of one JSON-RPC process that is kept for the whole run.",
        )
    ]
