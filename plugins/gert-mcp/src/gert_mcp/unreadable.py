"""Answer what is not a message, or cannot be read: the SDK drops it, and who sent it would wait for an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEP: Final = "recursion limit"
"""How the parser says that a message is nested deeper than it reads."""
# A text without an end is one token up to the end of the line: nothing of it is looked at twice.
_TOKENS: Final = re.compile(
    r'"id"\s*:\s*(?P<id>-?[0-9]{1,18}|"[^"\\]{0,256}")(?=\s*[,}])|(?P<answers>"(?:result|error)"\s*:)'
    r'|"[^"\\]*(?:\\.[^"\\]*)*\\?(?:"|\Z)|(?P<opens>[\[{])|(?P<closes>[\]}])',
    re.DOTALL,
)


class _Identified(BaseModel):
    """What may have an id, of whatever type."""

    id: Any = None


def refusal_of(line: str) -> JSONRPCError | None:
    """Return the answer to a line that is not a message; None for one that is."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_input=False)
        if first["type"] != "json_invalid":
            return _refused(line, INVALID_REQUEST, "the message is not JSON-RPC; a request has jsonrpc, id and method")
        why = _reason(first.get("ctx", {}))
        if _DEEP in why:
            return _refused(line, PARSE_ERROR, "the message is nested too deeply to be read; flatten its arguments")
        return _refused(line, PARSE_ERROR, f"the message is not JSON ({why}); send one message in each line")
    # The SDK takes a request whose id has another type for a notification, and never answers it.
    if isinstance(message, JSONRPCNotification) and _Identified.model_validate_json(line).model_fields_set:
        return _error(None, INVALID_REQUEST, "the id of the request is neither a text nor an integer; send one of them")
    return None


def refused_for_length(beginning: str, limit: str) -> JSONRPCError:
    """Return the answer to a message that is too long, of which this is the beginning."""
    return _refused(beginning, INVALID_REQUEST, f"the message has more than {limit} and is not read; send less at once")


def _reason(context: Mapping[str, object]) -> str:
    return str(context.get("error", "it cannot be read"))


def _refused(text: str, code: int, message: str) -> JSONRPCError:
    return _error(_id_of(text), code, message)


def _error(number: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def _id_of(text: str) -> int | str | None:
    """Return the id of a request by its text, however deep it is; None without one, and for an answer to this side."""
    depth, found = 0, None
    for token in _TOKENS.finditer(text):
        if token["opens"]:
            depth += 1
        elif token["closes"]:
            depth -= 1
        elif depth == 1 and token["answers"]:
            return None
        elif depth == 1:
            found = token["id"] or found
    if found is None:
        return None
    return found[1:-1] if found.startswith('"') else int(found)


__all__ = ["refusal_of", "refused_for_length"]
