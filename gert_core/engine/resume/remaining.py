"""Tell which steps of a recorded run are over, for everything that looks at the rest before the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepStatus
from gert_core.engine.resume.retry import around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.documents.tree import Runbook
    from gert_core.engine.resume.plan import Resumption
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.runs.state import StepState


class Remaining:
    """What a resumed run has still to do, by step key."""

    def __init__(self, recorded: Recorded, resumption: Resumption, runbook: Runbook) -> None:
        self._recorded = recorded
        self._runbook = runbook
        self._void = frozenset(resumption.void).difference(resumption.kept, resumption.results)
        self._stated = frozenset(resumption.results)
        self.certain = not resumption.abort and not any(map(self._ends, self._records()))
        """Whether the run goes on behind the steps that are over: none of them made it fail."""

    def _records(self) -> Iterator[StepState]:
        return (record for key, record in self._recorded.state.steps.items() if key not in self._void)

    def over(self, key: str) -> bool:
        """Return whether a step, or everything in it, has its result and is not executed again."""
        record = self._recorded.state.steps.get(key)
        return key in self._stated or (record is not None and record.done and key not in self._void)

    def denied(self, key: str) -> bool:
        """Return whether the result of a step is that it was denied."""
        record = self._recorded.state.steps.get(key)
        return self.over(key) and record is not None and record.reason == ErrorKind.GOVERNANCE_DENIED

    def asked(self, key: str) -> bool:
        """Return whether the approval of a step was asked for already."""
        return self._recorded.approval(key) is not None

    def waits(self) -> bool:
        """Return whether ending the run at once would leave something: cleanup that is open, or an open ticket."""
        return bool(self._recorded.state.tickets) or any(map(self._cleaned_up, self._records()))

    def _cleaned_up(self, record: StepState) -> bool:
        found = self._runbook.find(record.key)
        if found is None or self.denied(record.key):
            return False
        book, node = found
        return bool(book.cleanup) or (not record.done and any(block.cleanup for block in node.blocks))

    def _ends(self, record: StepState) -> bool:
        """Return whether the run ends because of a result; a denial is looked at where it is found."""
        if not (record.failed or record.reason == ErrorKind.APPROVAL_REJECTED):
            return False
        steps = self._recorded.state.steps
        for key in (record.key, *around(record.key)):
            found, outer = self._runbook.find(key), steps.get(key)
            if found is not None and found[1].fields.continue_on_fail:
                return False
            if outer is not None and outer.done and outer.status == StepStatus.SUCCESS:
                return False  # whatever failed in it was handled
        return True


__all__ = ["Remaining"]
