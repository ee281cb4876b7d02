"""Errors as agents are told them: without the server's directories, options of a command line, and opaque content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, GertError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_OPTION: Final = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_PATH: Final = re.compile(r"(?<![\w./:~…-])/(?:[^\s/'\"`,;:()]+/)+(?=[^\s/'\"`,;:()])")
_ASKED: Final = frozenset({ErrorKind.INPUT, ErrorKind.HOST_BUSY, ErrorKind.NOT_SERVED, ErrorKind.PATH_OUTSIDE})
"""Kinds of errors about what the caller gave, and about the server: of an opaque runbook they are told too."""
_OPAQUE: Final = "why is not shown: the runbook is opaque"


def for_agents(value: Any, roots: Iterable[Path]) -> Any:
    """Return the document of an error with paths from the roots, and hints that name nothing an agent does not have."""
    named = sorted((str(root) for root in roots), key=len, reverse=True)
    return _shown(value, [_places(root) for root in named if root != "/"])


def opaque_error(error: GertError, *, doing: str) -> GertError:
    """Return an error about an opaque runbook without what is in that: its kind, and what was not done."""
    if error.kind in _ASKED:
        return error
    return RunError(
        f"the runbook cannot be {doing}; {_OPAQUE}", kind=error.kind, hint="a person can see why, with gert"
    )


def checked_opaque(checked: dict[str, Any], label: str) -> dict[str, Any]:
    """Return the result of a validation of an opaque runbook: of each finding its rule, and nothing that it quotes."""
    findings = [
        {"rule": found["rule"], "severity": found["severity"], "message": _OPAQUE} for found in checked["diagnostics"]
    ]
    shown = {name: checked[name] for name in ("kind", "name", "valid")}
    return {"file": label, **shown, "diagnostics": findings, "message": "its steps are not shown to MCP clients"}


def _places(root: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./-]){re.escape(root)}(?:/(?=[^\s/])|(?![\w/.-]))")


def _shown(value: Any, places: list[re.Pattern[str]], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _shown(one, places, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_shown(one, places, name) for one in value]
    if not isinstance(value, str):
        return value
    for place in places:
        value = place.sub(lambda found: "" if found[0].endswith("/") else ".", value)
    value = _PATH.sub("…/", value)
    return _without_options(value) if name == "hint" else value


def _without_options(hint: str) -> str | None:
    """Return the parts of a hint that name no option; what agents have are tools and arguments."""
    kept = [part for part in hint.split("; ") if not _OPTION.search(part)]
    return "; ".join(kept) or None


__all__ = ["checked_opaque", "for_agents", "opaque_error"]
