"""Show the log of gert on standard error when ``GERT_LOG`` names a level."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError
from gert_core.cli.render.terminal import err

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator, Mapping

VARIABLE: Final = "GERT_LOG"
LEVELS: Final = ("debug", "info", "warning", "error")


@contextmanager
def logged(environ: Mapping[str, str], hide: Callable[[str], str]) -> Iterator[None]:
    """Show the records of all ``gert`` loggers while the block runs; without the variable import nothing."""
    level = environ.get(VARIABLE, "").lower()
    if not level:
        yield
        return
    if level not in LEVELS:
        raise UsageError(f"{VARIABLE} takes {', '.join(LEVELS)}, not {environ[VARIABLE]!r}")
    import logging

    logger, handler = logging.getLogger("gert"), _handler(hide)
    before = logger.level
    logger.setLevel(level.upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def mask_log(mask: Callable[[str], str]) -> None:
    """Mask the secrets of a run in everything that is logged from now on."""
    if (logging := sys.modules.get("logging")) is not None:
        for handler in logging.getLogger("gert").handlers:
            if hasattr(handler, "masks"):
                handler.masks.insert(0, mask)  # first: a masker doubles the marks that are there already


def _handler(hide: Callable[[str], str]) -> logging.Handler:
    import logging

    class Handler(logging.Handler):
        """Prints records as ``level logger: message``, masked and escaped."""

        def __init__(self) -> None:
            super().__init__()
            self.masks = [hide]

        def emit(self, record: logging.LogRecord) -> None:
            text = f"{record.levelname.lower()} {record.name}: {record.getMessage()}"
            for mask in self.masks:
                text = mask(text)
            err(text)

    return Handler()


__all__ = ["LEVELS", "VARIABLE", "logged", "mask_log"]
