"""A step that needs an approval, and keys of people: shared by the tests about who approves."""

from __future__ import annotations

from base64 import b64encode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: touch}
contract: {effects: [danger], writes: [production]}
actions: {run: {argv: [touch, acted]}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: people}
tools: [act]
steps:
  - {id: act, type: tool, tool: act}
  - {type: end, outcome: {category: resolved, code: acted}}
"""


def pair(number: int) -> tuple[str, str]:
    private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    texts = (private.private_bytes_raw(), private.public_key().public_bytes_raw())
    return tuple(f"ed25519:{b64encode(data).decode()}" for data in texts)  # type: ignore[return-value]
