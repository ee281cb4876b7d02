"""Look for secrets in the bytes of files that are kept unaltered, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gert_core.secrets.masker import Masker


class SecretFoundError(Exception):
    """A file has the value of a secret in it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def without_secrets(parts: Iterable[bytes], masker: Masker) -> Iterator[bytes]:
    """Yield the bytes that are known to be in no secret; raise ``SecretFoundError`` before the first one that is.

    What may be the beginning of a secret is held back until more is known, so none of it is written.
    """
    if not masker.count:
        yield from parts
        return
    ahead, held = masker.reach, b""
    for part in parts:
        held += part
        _check(held, masker)
        done = max(0, len(held) - ahead)
        if done:
            yield held[:done]
            held = held[done:]
    if held:
        yield held


def _check(data: bytes, masker: Masker) -> None:
    # UTF-8 is found wherever it begins, and other bytes stay what they are.
    text = data.decode("utf-8", "surrogateescape")
    if (name := masker.first(text)) is not None:
        raise SecretFoundError(name)


__all__ = ["SecretFoundError", "without_secrets"]
