"""Mask output that arrives in parts: what may be the beginning of a secret is held back until more is known."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.secrets.masker import Masker


class MaskedStream:
    """One stream of bytes that is masked as if it were one text, however it is cut into parts."""

    __slots__ = ("_decoder", "_given", "_held", "_masker")

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._given = 0
        """How much of what is held was given already: the beginning of a secret that overlaps the one before it."""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Return as much masked text as what follows cannot change; all of it when this is the end."""
        text = self._held + self._decoder.decode(data, final)
        masked, done, keep = self._masker.mask_start(text, since=self._given)
        self._held, self._given = text[keep:], done - keep
        if final:  # a program that was stopped may have written the beginning of a secret
            masked += self._masker.mask_end(self._held, since=self._given)
            self._held, self._given = "", 0
        return masked


__all__ = ["MaskedStream"]
