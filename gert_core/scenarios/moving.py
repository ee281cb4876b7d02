"""Move a recording to its place beside its runbook; its own path to the runbook is the one thing that changes."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError
from gert_core.documents.scenario import SCENARIO_FILE
from gert_core.documents.yaml import MAX_BYTES
from gert_core.kit.durable import replace_file
from gert_core.kit.files import read_file
from gert_core.scenarios.recording.text import quoted

if TYPE_CHECKING:
    from pathlib import Path

_RUNBOOK: Final = re.compile(rb"^runbook[ \t]*:[^\r\n]*", re.MULTILINE)


def check_home(home: Path) -> None:
    """Raise ``UsageError`` when there is something at a place already, or it cannot be the place of a scenario."""
    if home.name.startswith(".") or not home.name:
        raise UsageError(f"{home.name!r} cannot be the name of a scenario", hint="give it a name without dots")
    if os.path.lexists(home):
        raise UsageError(f"{home} exists already; nothing was changed", file=str(home), hint="choose another --name")


def move(directory: Path, home: Path, runbook: Path) -> None:
    """Move a scenario; raise ``UsageError`` when that fails."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(directory, home)
        file = home / SCENARIO_FILE
        data = read_file(file, limit=MAX_BYTES) or b""
        line = f"runbook: {quoted(os.path.relpath(runbook.absolute(), home.absolute()))}".encode()
        if (changed := _RUNBOOK.sub(lambda _: line, data, count=1)) != data:
            replace_file(file, changed, mode=file.stat().st_mode & 0o777)
    except OSError as error:
        raise UsageError(f"{directory} cannot be moved to {home}: {error.strerror or error}") from None


__all__ = ["check_home", "move"]
