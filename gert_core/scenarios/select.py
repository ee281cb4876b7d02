"""Select the scenarios to run: by name, by tag, and golden ones only unless all are requested."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.scenarios.find import Candidate


class Chosen(Struct, frozen=True, kw_only=True):
    """The scenarios of one runbook that run, and how many of the others only ``--all`` would run."""

    candidates: tuple[Candidate, ...]
    archived: int = 0


class Selection(Struct, frozen=True, kw_only=True):
    """The selection made on the command line.

    If any scenario of a runbook is golden, only golden ones run, unless ``everything`` is set or scenarios are
    named. ``tags`` narrow the selection. A scenario without a test is kept, so that it is reported as skipped.
    """

    names: Sequence[str] = ()
    tags: Sequence[str] = ()
    everything: bool = False

    def choose(self, candidates: Sequence[Candidate]) -> Chosen:
        """Return the scenarios of one runbook that run."""
        wanted = [one for one in candidates if self._named(one) and self._tagged(one)]
        if self.everything or self.names or not any(one.golden for one in candidates):
            return Chosen(candidates=tuple(wanted))
        # A test that cannot be read might be golden, so it is not left out silently.
        kept = tuple(one for one in wanted if one.golden or one.problem is not None or not one.testable)
        return Chosen(candidates=kept, archived=len(wanted) - len(kept))

    def _named(self, one: Candidate) -> bool:
        return not self.names or any(fnmatchcase(one.name, pattern) for pattern in self.names)

    def _tagged(self, one: Candidate) -> bool:
        return not self.tags or not one.tags.isdisjoint(self.tags)

    def check_matches(self, candidates: Iterable[Candidate]) -> None:
        """Raise ``UsageError`` when no scenario has a given name or tag."""
        known = list(candidates)
        names = sorted({one.name for one in known})
        for pattern in self.names:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise UsageError(f"there is no scenario {pattern!r}", hint=_hint(pattern, names, "scenarios"))
        tags = sorted({tag for one in known for tag in one.tags})
        for tag in self.tags:
            if tag not in tags:
                raise UsageError(f"no scenario has the tag {tag!r}", hint=_hint(tag, tags, "tags"))


def _hint(word: str, known: Sequence[str], noun: str) -> str:
    from difflib import get_close_matches  # only mistakes need it

    near = get_close_matches(word, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
    return f"existing {noun}: {shown}" if known else f"there are no {noun}"


__all__ = ["Chosen", "Selection"]
