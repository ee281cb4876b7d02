"""What a mask stood for, by the texts that have its label."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.secrets.forms import wrapped
from gert_core.secrets.search import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK: Final = r"<REDACTED:(?::|([^:<>\s]+(?::[a-z0-9-]+)*)>)"
"""A mask with its label, or the escaped beginning of a text that looks like one."""
_NAMED: Final = r"<REDACTED:([^:<>\s]+)"
_FROM: Final = r":from(\d+)\Z"
_WRAPPED: Final = r":(lf|crlf|mixed)([0-9r-]+)\Z"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a masked text in which secrets have the names that they have now."""
    return re.sub(_NAMED, lambda match: MARK + names.get(match[1], match[1]), text)


def original(label: str | None, texts: Mapping[str, str]) -> str:
    """Return what a mask with this label replaced; raise ``RunError`` when the secret has no value now."""
    if label is None:
        return MARK
    cut = re.search(_FROM, label)
    base = label[: cut.start()] if cut else label
    wrap = re.search(_WRAPPED, base)
    base = base[: wrap.start()] if wrap else base
    if base not in texts:
        name = base.partition(":")[0]
        raise RunError(
            f"secret {name} is needed to restore a recorded value, and it has no value now",
            kind=ErrorKind.SECRET_MISSING,
            hint=f"set {name} as it was when the run started, then resume again",
        )
    text = texts[base]
    if wrap:
        text = wrapped(text, wrap[1], wrap[2].split("-"))
    return text[int(cut.group(1)) if cut else 0 :]


__all__ = ["MASK", "original", "renamed"]
