"""Log events of gert and its plugins, on loggers named ``gert.PART``.

No command pays for importing ``logging``: it is imported by a host, by ``GERT_LOG``, or when there is something to warn
of, which Python then shows on standard error. Callers mask secrets before they log.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def debug(part: str, message: str, *values: object) -> None:
    """Log for debugging, if this process has imported ``logging``."""
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger(f"gert.{part}").debug(message, *values)


def warning(part: str, message: str, *values: object) -> None:
    """Log a warning; without handlers it is shown on standard error."""
    import logging

    logging.getLogger(f"gert.{part}").warning(message, *values)


def fault(part: str, error: BaseException, *, environ: Mapping[str, str], mask: Callable[[str], str]) -> None:
    """Log the traceback of an exception that a plugin raised: as an error with ``GERT_DEBUG=1``, else for debugging."""
    wanted = environ.get("GERT_DEBUG") == "1"
    if not wanted and "logging" not in sys.modules:
        return
    import logging
    import traceback

    text = mask("".join(traceback.format_exception(error)).rstrip())
    logging.getLogger(f"gert.{part}").log(logging.ERROR if wanted else logging.DEBUG, "%s", text)


__all__ = ["debug", "fault", "warning"]
