"""A run that is being executed while a test looks at it: its tool makes ``began``, and waits for ``go``."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gertproc import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gertproc import Gert

PATIENCE = 60


@contextmanager
def executing(gert: Gert, *argv: str, ended: str | None = None, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start ``gert exec book.yaml`` and give its process once the tool has begun; let the tool go on behind the block.

    ``ended`` is a file that the tool makes last, which is waited for: a tool outlives a gert that is killed.
    """
    process = subprocess.Popen(
        [*COMMAND, "exec", "book.yaml", *argv],
        cwd=gert.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=gert.environ | environ,
    )
    try:
        wait_for(gert.root / "began")
        yield process
    finally:
        (gert.root / "go").touch()
        process.wait(PATIENCE)
        if ended is not None:
            wait_for(gert.root / ended)


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, path.name
        time.sleep(0.01)


__all__ = ["executing", "wait_for"]
