"""Name files that are kept with a run without showing secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.secrets import Masker

_HIDDEN: Final = "REDACTED"


def shown_name(path: Path, masker: Masker) -> str:
    """Return the name of a file without secrets.

    It is a name of its own and not a mask, so that it names the same file in the trace, on disk and after a resume.
    """
    name, whole = path.name, str(path)
    if not masker.count:
        return _text(name)
    before = len(whole) - len(name)
    # A secret may have a slash: its places are looked for in the whole path.
    places = sorted((max(start, before), end) for start, end in masker.places(whole) if end > before)
    out, done = "", before
    for start, end in places:
        if end > done:
            out += whole[done : max(start, done)] + (_HIDDEN if start >= done else "")
            done = end
    return _text(out + whole[done:])


def _text(name: str) -> str:
    """Return a name as text that a trace and every store can keep: a question mark for each byte that is not UTF-8."""
    return name.encode("utf-8", "replace").decode()


__all__ = ["shown_name"]
