"""Encode requests and parse answers, one JSON message per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gert_core.kit.excerpts import quoted, shorten
from gert_core.kit.wire import decode, encode
from gert_jsonrpc.errors import RpcError

SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response: a result, or the error in its place."""

    id: int
    result: object = None
    error: RpcError | None = None


class InvalidMessageError(Exception):
    """A line that is not a valid answer; the text completes "wrote"."""


def request(number: int, method: str, params: object) -> bytes:
    """Return the line of a request; raise ``ValueError`` for what JSON cannot express."""
    text = encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    return text.encode("utf-8", "replace") + b"\n"


def parse(line: bytes) -> Response | None:
    """Return the response in a line; ``None`` for a blank line and for a notification, which is ignored."""
    text = line.decode("utf-8", "replace").strip()
    if not text:
        return None
    try:
        message = decode(text)
    except ValueError as error:
        raise InvalidMessageError(
            f"a line that is not valid JSON ({error}): {show(text)}; logs belong on stderr"
        ) from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise InvalidMessageError(
            f'a line that is not a JSON-RPC 2.0 message (one object with "jsonrpc": "2.0"): {show(text)}'
        )
    if "method" in message:
        if "id" in message:
            raise InvalidMessageError(
                f"a request of its own ({message['method']!r}); only answers are expected from it"
            )
        return None
    number = message.get("id")
    if ("result" in message) == ("error" in message):
        raise InvalidMessageError(f'an answer that does not have exactly one of "result" and "error": {show(text)}')
    refusal = _error(message["error"], text) if "error" in message else None
    if type(number) is not int:
        reason = f": {refusal.message}" if refusal else ""
        raise InvalidMessageError(f"an answer without the id of a request (id {number!r}){reason}")
    return Response(id=number, result=message.get("result"), error=refusal)


def _error(value: object, text: str) -> RpcError:
    if not isinstance(value, dict) or type(value.get("code")) is not int or not isinstance(value.get("message"), str):
        raise InvalidMessageError(f'an error that is not {{"code": number, "message": text}}: {show(text)}')
    return RpcError(value["code"], value["message"], value.get("data"))


def show(text: str) -> str:
    """Return the beginning of a line, quoted."""
    return quoted(shorten(text, SHOWN, "..."))


__all__ = ["InvalidMessageError", "Response", "parse", "request", "show"]
