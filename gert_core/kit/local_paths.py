"""Leave out where files are on this machine, in sentences for people who have no account on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_END: Final = r"\s'\"`,;)<>|"
_STORE: Final = re.compile(rf"\b(?!https?:)[a-z][a-z0-9+.-]*://[^{_END}]*")
_PATH: Final = re.compile(rf"(?<![\w.:/-])~?/(?:[^{_END}/]+/+)*([^{_END}/]*)")


def without_directories(text: str) -> str:
    """Return a sentence with the last part of each absolute path, and without the addresses of stores.

    Links of the web stay as they are, and so do relative paths.
    """
    for directory in (Path.cwd(), Path.home()):
        if len(directory.parts) > 1:  # also one whose name has a blank
            text = text.replace(f"{directory}/", "/")
    return _PATH.sub(lambda found: found[1] or "...", _STORE.sub("...", text))


__all__ = ["without_directories"]
