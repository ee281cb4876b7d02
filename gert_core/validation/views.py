"""A runbook as plugins' own rules see it: every step with its place and its contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.views import StepView
from gert_core.contracts import Contracts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gert_core.api import Contract, Json
    from gert_core.documents.tree import Runbook, StepNode


class TreeView:
    """The ``RunbookView`` of a runbook that was read."""

    __slots__ = ("_contracts", "_runbook")

    def __init__(self, runbook: Runbook) -> None:
        self._runbook = runbook
        self._contracts = Contracts(runbook)

    @property
    def name(self) -> str:
        """Its ``meta.name``."""
        return self._runbook.name

    @property
    def file(self) -> str:
        """The file as messages name it."""
        return self._runbook.document.file

    @property
    def tools(self) -> Sequence[str]:
        """The tools it lists, as it spells them."""
        return tuple(self._runbook.model.tools)

    @property
    def document(self) -> Mapping[str, Json]:
        """The whole document as written."""
        value: Mapping[str, Json] = self._runbook.document.value
        return value

    def walk(self) -> Iterator[StepView]:
        """Return every step at any depth, in document order."""
        for step in self._runbook.walk():
            line, column = self._runbook.document.locate(step.path)
            around = step.within.owner if step.within is not None else None
            yield StepView(
                id=step.id,
                type=step.type.name,
                path=step.path,
                line=line,
                column=column,
                parent=around.id if around is not None else None,
                fields=step.raw,
                contract=self._contract(step),
            )

    def locate(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Return line and column of a place in the document, or of the nearest place around it."""
        return self._runbook.document.locate(path)

    def _contract(self, step: StepNode) -> Contract | None:
        try:
            return self._contracts.of(step)
        except LookupError:
            return None


__all__ = ["TreeView"]
