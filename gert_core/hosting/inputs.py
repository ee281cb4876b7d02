"""The inputs that a runbook declares, for a form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.api import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.hosting import Host


class InputField(Struct, frozen=True, kw_only=True):
    """One input of a runbook."""

    name: str
    type: str = "string"
    required: bool = False
    default: str | None = None
    description: str = ""
    secret: bool = False
    options: tuple[str, ...] = ()
    source: str = ""
    """Where its value comes from when none is given."""

    @property
    def label(self) -> str:
        """What stands above its line."""
        facts = [self.type, *(["required"] if self.required else []), *(["secret"] if self.secret else [])]
        facts += [f"from {self.source}"] if self.source else []
        return f"{self.name} ({', '.join(facts)}){f': {self.description}' if self.description else ''}"

    @property
    def missing(self) -> bool:
        """Whether a run cannot begin without a value for it."""
        return self.required and self.default is None and not self.source


def input_fields(host: Host, runbook: Path) -> list[InputField]:
    """Return the inputs that a runbook declares; raise ``UsageError`` when it is none."""
    found = host.validate(runbook)
    value: Any = found.document.value
    meta = value.get("meta") if isinstance(value, dict) else None
    if not found.valid or not isinstance(meta, dict):
        first = next((one for one in found.diagnostics), None)
        told = f": {first.message}" if first is not None else ""
        raise UsageError(
            f"{runbook.name} is not a valid runbook{told}", hint=f"gert validate {runbook} says what is wrong"
        )
    inputs = meta.get("inputs") or {}
    return [_field(str(name), one if isinstance(one, dict) else {}) for name, one in inputs.items()]


def _field(name: str, given: Mapping[str, Any]) -> InputField:
    secret = bool(given.get("secret"))
    return InputField(
        name=name,
        type=str(given.get("type") or "string"),
        required=bool(given.get("required")),
        default=None if given.get("default") is None else as_text(given["default"]),
        description=str(given.get("description") or ""),
        secret=secret,
        options=() if secret else tuple(as_text(one) for one in given.get("enum") or ()),
        source=str(given.get("from") or ""),
    )


def as_text(value: object) -> str:
    """Return a value as a person types it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


__all__ = ["InputField", "as_text", "input_fields"]
