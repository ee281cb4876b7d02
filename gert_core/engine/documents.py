"""What the runbooks that a run includes bring along: their governance and secrets, known before the first step."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from gert_core.engine.steps.outputs import Determinism
from gert_core.governance.rules import Act
from gert_core.governance.sources import added_policies, check_demands, included_sources
from gert_core.secrets import collect, joined
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.request import Request
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies
    from gert_core.secrets import Secrets


class IncludedDocuments:
    """The included runbooks of a run by their paths; an invalid policy of one of them stops the run at its start."""

    def __init__(self, compiled: CompiledRunbook, request: Request) -> None:
        self._books = compiled.runbook.included
        self._registry = request.registry
        self._sources = {name: included_sources(one, request.project) for name, one in self._books.items()}
        self._policies: dict[tuple[Policies, str], Policies] = {}
        self.compiled: Mapping[str, CompiledRunbook] = compiled.included
        self.determinism = {name: Determinism() for name in self._books}
        self.secrets: Mapping[str, Secrets] = {}
        """What the tools of each are given, once joined with those of the run."""

    @property
    def deny(self) -> bool:
        """Whether a rule that one of them adds denies anything."""
        rules = (rule for sources in self._sources.values() for source in sources for rule in source.rules)
        return any(rule.action is Act.DENY for rule in rules)

    def policies(self, around: Policies, name: str) -> Policies:
        """Return what applies inside an included runbook: all that applies around it, and what it adds."""
        found = self._policies.get((around, name))
        if found is None:
            found = added_policies(around, self._sources[name], self._registry)
            self._policies[around, name] = found
        return found

    def check(self, policies: Policies) -> None:
        """Raise ``ProjectError`` for a document whose policies contradict those of the run."""
        for name, book in self._books.items():
            found = self.policies(policies, name)
            if found.complete:
                check_demands(book.runbook, found.people)

    def join_secrets(self, own: Secrets, request: Request) -> Secrets:
        """Return the secrets of the run; they and those of each document know all others, to mask and withhold them."""
        books = self._books.values()
        found = joined([own, *(collect(one.runbook, request.environ, one.project) for one in books)])
        self.secrets = dict(zip(self._books, found[1:], strict=True))
        return found[0]

    def policy_digests(self) -> dict[str, str]:
        """Return the digest of the policies that each document adds, for those that add any."""
        return {
            name: f"sha256:{sha256(canonical([source.document for source in sources])).hexdigest()}"
            for name, sources in self._sources.items()
            if sources
        }

    def policy_files(self) -> dict[str, dict[str, str]]:
        """Return the files of the policies that each document has of a project of its own, with their digests."""
        return {
            name: {str(one.path.absolute()): one.digest for one in sources if one.included and one.path is not None}
            for name, sources in self._sources.items()
            if any(one.included for one in sources)
        }


__all__ = ["IncludedDocuments"]
