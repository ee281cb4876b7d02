"""Select the scenarios to run: by name, by tag, and golden ones only unless all are requested."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.documents.scenario import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.scenarios.find import ScenarioCandidate


class Chosen(Struct, frozen=True, kw_only=True):
    """The scenarios of one runbook that run, and how many of the others only ``--all`` would run."""

    candidates: tuple[ScenarioCandidate, ...]
    archived: int = 0


class ScenarioSelection(Struct, frozen=True, kw_only=True):
    """The selection made on the command line.

    If any scenario of a runbook is golden, only golden ones run, unless ``everything`` is set or scenarios are
    named. A recorded one that is not golden runs only if it is asked for: so, or by its tags. ``tags`` narrow the
    selection. A scenario without a test is kept, so that it is reported as skipped.
    """

    names: Sequence[str] = ()
    tags: Sequence[str] = ()
    everything: bool = False

    def choose(self, candidates: Sequence[ScenarioCandidate]) -> Chosen:
        """Return the scenarios of one runbook that run."""
        wanted = [one for one in candidates if self._named(one) and self._tagged(one)]
        if self.everything or self.names:
            return Chosen(candidates=tuple(wanted))
        curated = any(one.golden for one in candidates)
        kept = tuple(one for one in wanted if self._runs(one, curated=curated))
        return Chosen(candidates=kept, archived=len(wanted) - len(kept))

    def _runs(self, one: ScenarioCandidate, *, curated: bool) -> bool:
        """Return whether a scenario runs by default; ``curated``: some of its runbook are golden."""
        # A test that cannot be read might be golden, so it is not left out silently.
        if one.golden or one.problem is not None or not one.testable:
            return True
        return bool(self.tags) if RECORDED in one.tags else not curated

    def _named(self, one: ScenarioCandidate) -> bool:
        return not self.names or any(fnmatchcase(one.name, pattern) for pattern in self.names)

    def _tagged(self, one: ScenarioCandidate) -> bool:
        return not self.tags or not one.tags.isdisjoint(self.tags)

    def check_matches(self, candidates: Iterable[ScenarioCandidate]) -> None:
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


class Golden(ScenarioSelection, frozen=True, kw_only=True):
    """The selection for comparing: golden scenarios, and where a runbook has none, all that have a test."""

    def choose(self, candidates: Sequence[ScenarioCandidate]) -> Chosen:
        """Return the scenarios of one runbook that are compared."""
        wanted = [one for one in candidates if self._named(one)]
        curated = any(one.golden for one in candidates) and not (self.everything or self.names)
        kept = tuple(one for one in wanted if one.testable and (one.golden or one.problem is not None or not curated))
        return Chosen(candidates=kept, archived=len(wanted) - len(kept))


def _hint(word: str, known: Sequence[str], noun: str) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    if near := nearest(word, known):
        return f"did you mean {near!r}?"
    shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
    return f"existing {noun}: {shown}" if known else f"there are no {noun}"


__all__ = ["Chosen", "Golden", "ScenarioSelection"]
