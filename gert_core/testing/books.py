"""Derive runbooks for tests from the example of a step type: in a loop, in a fork, with a time limit."""

from __future__ import annotations

import json
from copy import deepcopy
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.documents import yaml

if TYPE_CHECKING:
    from collections.abc import Collection

ITEMS: Final = ("one", "two", "three", "four")
_STEP_ID: Final = "tested"
_ITEM: Final = "kit_item"


class Book(Struct, frozen=True, kw_only=True):
    """A derived runbook: its text, and the step keys that the tested step has in it."""

    text: str
    keys: tuple[str, ...]


class Example:
    """An example runbook and the first step of its own list that has one of the tested types."""

    def __init__(self, text: str, types: Collection[str]) -> None:
        self._document: dict[str, Any] = yaml.loads(dedent(text).encode(), name="runbook.yaml").value
        steps = self._document.get("steps") or []
        self._place = next((n for n, step in enumerate(steps) if step.get("type") in types), None)

    @property
    def loops(self) -> bool:
        """Whether the tested step can be put into a loop or a fork: it stands in the list and is not in a loop yet."""
        return self._place is not None and "for_each" not in self._document["steps"][self._place]

    def alone(self) -> Book:
        """Return a runbook that ends after the tested step."""
        step = self._step()
        return self._book(step, (step["id"],))

    def in_loop(self, *, parallel: bool) -> Book:
        """Return a runbook that runs the tested step once per item."""
        step = self._step()
        step["for_each"] = {"as": _ITEM, "over": list(ITEMS), "parallel": parallel}
        return self._book(step, tuple(f"{step['id']}[{number}]" for number in range(len(ITEMS))))

    def in_fork(self) -> Book:
        """Return a runbook that runs the tested step beside others, in a thread that is not that of the run."""
        step = self._step()
        # The thread of the run takes the first branch and is busy with it while another one takes the second.
        busy = [[{"id": f"kit_beside_{number}", "type": "kit_pause", "seconds": 0.1}] for number in range(2)]
        fork = {"id": "kit_forked", "type": "kit_fork", "branches": [busy[0], [step], busy[1]]}
        return self._book(fork, (f"kit_forked/1/{step['id']}",))

    def with_timeout(self, timeout: str) -> str:
        """Return the whole runbook with a time limit for the tested step."""
        document = deepcopy(self._document)
        document["steps"][self._place or 0]["timeout"] = timeout
        return json.dumps(document)

    def _step(self) -> dict[str, Any]:
        """Return a copy of the tested step without what concerns the steps after it."""
        step = deepcopy(self._document["steps"][self._place])
        for field in ("next", "export"):
            step.pop(field, None)
        step.setdefault("id", _STEP_ID)
        return dict(step)

    def _book(self, step: dict[str, Any], keys: tuple[str, ...]) -> Book:
        """Return a runbook of the steps before the tested one, a step in its place, and an end."""
        document = deepcopy(self._document)
        document["steps"] = [*document["steps"][: self._place], step, {"type": "finish"}]
        return Book(text=json.dumps(document), keys=keys)


__all__ = ["ITEMS", "Book", "Example"]
