"""What ``meta.json`` of a run holds: its runbook and choices as they are known before the first event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gert_core.kit.files import MIB, UnreadableError, decode_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api.stores import StoredRun

META: Final = "meta.json"
"""The first blob of a run."""


def meta_blob(
    run_id: str, *, runbook: Path, trace: Path | None = None, extra: Mapping[str, object] | None = None
) -> bytes:
    """Return the blob with the runbook's path and, if the trace is elsewhere, its path."""
    meta: dict[str, object] = {"run_id": run_id, "runbook_path": str(runbook.absolute()), **(extra or {})}
    if trace is not None:
        meta["trace"] = str(trace.absolute())
    return json.dumps(meta, indent=2, ensure_ascii=False).encode() + b"\n"


def read_meta(run: StoredRun) -> dict[str, object]:
    """Return what the blob of a run holds; empty when there is none."""
    try:
        raw = run.get(META, limit=MIB)
        return decode_record(raw, dict[str, object], path=run.where(META)) if raw else {}
    except UnreadableError as error:
        error.hint = "restore the file"
        raise


__all__ = ["META", "meta_blob", "read_meta"]
