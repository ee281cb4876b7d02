"""Decode JSON that others wrote: whatever is wrong with it, nesting that is too deep too, is a ``ValueError``.

The decoders of Python and of msgspec raise ``RecursionError`` for a document that is nested deeply, and msgspec has an
exception of its own for everything else. Who reads a file or a message expects neither, and one planted file would end
a command that reads many. All JSON from disk, from databases and from peers is decoded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import MsgspecError
from msgspec import json as msgspec_json

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


class TooDeepError(ValueError):
    """A document that is nested too deeply to be read."""

    def __init__(self) -> None:
        super().__init__("it is nested too deeply")


def loads(
    data: str | bytes,
    *,
    parse_constant: Callable[[str], object] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], object] | None = None,
) -> Any:
    """Return the value of a JSON document as ``json.loads`` does; raise ``ValueError`` when it cannot be read."""
    import json  # not everybody who imports this needs it

    try:
        return json.loads(data, parse_constant=parse_constant, object_pairs_hook=object_pairs_hook)
    except RecursionError:
        raise TooDeepError from None


class JsonDecoder(Generic[_T]):
    """A decoder of one type, for many documents."""

    __slots__ = ("_decoder",)

    def __init__(self, kind: type[_T]) -> None:
        self._decoder = msgspec_json.Decoder(kind)

    def decode(self, data: str | bytes | memoryview) -> _T:
        """Return the value of a JSON document; raise ``ValueError`` when it is none, or of another type."""
        try:
            return self._decoder.decode(data)
        except MsgspecError as error:
            raise ValueError(str(error)) from None
        except RecursionError:
            raise TooDeepError from None

    def decode_lines(self, data: bytes | memoryview) -> list[_T]:
        """Return the values of all lines; raise ``ValueError`` when one of them is none, or of another type."""
        try:
            return self._decoder.decode_lines(data)
        except MsgspecError as error:
            raise ValueError(str(error)) from None
        except RecursionError:
            raise TooDeepError from None


def decode_as(data: str | bytes | memoryview, kind: type[_T]) -> _T:
    """Return the value of a JSON document as this type; raise ``ValueError`` when it is none, or of another type."""
    return JsonDecoder(kind).decode(data)


__all__ = ["JsonDecoder", "TooDeepError", "decode_as", "loads"]
