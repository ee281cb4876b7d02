"""Put placeholders where a trace has masks, so that a replay sees values of the same shape and no secret."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.errors import GertError
from gert_core.secrets import MARK, Masker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.runs.state import RunState

_LENGTH: Final = 16
"""The length of the placeholder of a secret output whose own is not known any more."""
_LEAD: Final = "secret-"
_ZEROS: Final[Mapping[str, object]] = {"int": 0, "float": 0.0, "bool": False, "list": [], "object": {}}
_NUMBER: Final = re.compile(rf"{MARK}[^<>]*:(int|float)>")
_LABEL: Final = re.compile(rf"{MARK}([^:<>]+)")


class Placeholders:
    """What stands for the secrets of a run: its inputs as their masks, secret outputs as texts of their length.

    ``known`` has the secret outputs that this process knows, by name.
    """

    def __init__(self, state: RunState, known: Mapping[str, str]) -> None:
        self._inputs = frozenset(state.secret_inputs)
        self._known = known
        self._masker = Masker({})
        self._names: set[str] = set()
        for name in (*self._inputs, *map(str, state.facts.get("secrets") or ())):
            self._learn(name, f"{MARK}{name}>")

    def _learn(self, name: str, value: str) -> None:
        self._names.add(name)
        try:
            self._masker.learn(name, value)
        except GertError:  # a name that masks cannot have; its text stays as it is
            return

    def input(self, name: str, kind: str, value: object) -> object:
        """Return an input of a scenario: a secret one as its mask, or as the zero of its type."""
        if name not in self._inputs:
            return self.put(value)
        return _ZEROS.get(kind, f"{MARK}{name}>")

    def put(self, value: Any) -> Any:
        """Return recorded data with placeholders for masks, and texts that only looked like masks as they were."""
        if isinstance(value, str):
            return self._text(value) if MARK in value else value
        if isinstance(value, list):
            return [self.put(item) for item in value]
        if isinstance(value, dict):
            return {self._name(key): self.put(item) for key, item in value.items()}
        return value

    def _name(self, key: object) -> str:
        return str(self.put(str(key)))

    def _text(self, text: str) -> object:
        if (match := _NUMBER.fullmatch(text)) is not None:
            return _ZEROS[match[1]]
        for name in _LABEL.findall(text):
            if name not in self._names:
                self._learn(name, placeholder(name, len(self._known.get(name, "")) or _LENGTH))
        try:
            return self._masker.unmask(text)
        except GertError:  # a form that the placeholder does not have, such as a line of it
            return text.replace(f"{MARK}:", MARK)


def placeholder(name: str, length: int) -> str:
    """Return a text of this length that is the same for a name and another for every other name."""
    digest = sha256(name.encode()).hexdigest()
    text = digest if length < 2 * len(_LEAD) else _LEAD + digest
    return (text * (length // len(text) + 1))[:length]


__all__ = ["Placeholders", "placeholder"]
