"""Find the failed steps of a run that no retry can run: they were given a secret output that is not known any more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gert_core.api.events import EventType
from gert_core.secrets.search import MARK
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import StoredRun, TraceEvent
    from gert_core.runs.state import RunState

_READ: Final = (EventType.CONTRACT_EVALUATED, EventType.STEP_START)


def need_lost_secrets(run: StoredRun, state: RunState, *, again: Callable[[str], bool]) -> list[str]:
    """Return the failing steps whose inputs had a secret output of a step that a retry must not run again.

    Such a value is known to the process that made it only. A step that is deterministic makes it again, and so does
    one of which ``again`` says that it is retried with a step around it.
    """
    lost: set[str] = set()
    needing: dict[str, bool] = {}
    for event in read(run, run_id=run.run_id, only=_READ):
        key = event.step_key or ""
        if event.type == EventType.CONTRACT_EVALUATED:
            lost |= set() if again(key) else _secrets(key, event)
        elif key in state.failing:  # the last start counts
            given = json.dumps(event.data.get("inputs"), ensure_ascii=False)
            needing[key] = any(f"{MARK}{name}{end}" in given for name in lost for end in ">:")
    return [key for key in state.failing if needing.get(key)]


def _secrets(key: str, event: TraceEvent) -> set[str]:
    """Return the names that the masks of a step's secret outputs have; none of a step that makes the same again."""
    contract = event.data.get("resolved_contract")
    if not isinstance(contract, dict) or contract.get("deterministic") is True:
        return set()
    outputs: Mapping[str, object] = contract.get("outputs") or {}
    return {f"{key}.{name}" for name, one in outputs.items() if isinstance(one, dict) and one.get("secret") is True}


__all__ = ["need_lost_secrets"]
