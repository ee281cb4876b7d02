"""Import msgspec without ``typing_extensions``, which it takes type hints from where that is installed.

The functions of ``typing`` do the same for gert's records, and ``typing_extensions`` brings ``inspect`` and half of the
compiler with it: a tenth of a command that reads no document, such as ``gert runs list``. pydantic imports it when a
document is read.
"""

from __future__ import annotations

import sys
from typing import Final

NAME: Final = "typing_extensions"


def import_msgspec() -> None:
    """Import msgspec; nothing else is imported meanwhile, so that only msgspec misses the other module."""
    if "msgspec" in sys.modules or NAME in sys.modules:
        return
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]
    modules[NAME] = None  # as Python documents it: an import of this name fails
    try:
        import msgspec  # noqa: F401
    finally:
        del modules[NAME]


__all__ = ["NAME", "import_msgspec"]
