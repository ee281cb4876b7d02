"""Look ahead of a real run before it begins or goes on: what it needs, and what it is certainly denied for.

What finds these is imported only for runs that need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, UsageError
from gert_core.engine.place import chosen_provider
from gert_core.engine.run import os_user
from gert_core.secrets.approvals import refuse_own_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalProvider
    from gert_core.engine.denial import Restricted
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.request import Request
    from gert_core.engine.resume.plan import Resumption
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies
    from gert_core.plugin.config import PluginServices
    from gert_core.secrets import Secrets


class LookAhead:
    """What is known of a run before its first step; of a resumed one, of the steps that are not over."""

    def __init__(
        self,
        request: Request,
        compiled: CompiledRunbook,
        policies: Policies,
        documents: IncludedDocuments | None,
        resumption: Resumption | None,
    ) -> None:
        self._request = request
        self._compiled = compiled
        self._policies = policies
        self._documents = documents
        aborts = resumption is not None and resumption.abort
        self._looks = request.mode == "real" and request.preflight and not aborts
        self._may_deny = self._looks and (policies.deny or (documents is not None and documents.deny))
        self._remaining = None
        if self._looks and request.resume is not None and resumption is not None:
            from gert_core.engine.resume.remaining import Remaining

            self._remaining = Remaining(request.resume.run.recorded, resumption, compiled.runbook)

    def provider(
        self, secrets: Mapping[str, Secrets], plugins: PluginServices, *, actor: str, denied: bool
    ) -> ApprovalProvider | None:
        """Return the approval provider; a real run is refused when it would certainly fail for want of something.

        ``denied``: the run ends before its first step, so what only some paths are denied need not be told.
        """
        if not self._looks:
            return self._allowed()
        from gert_core.engine.preflight import preflight

        return preflight(
            self._request,
            self._compiled,
            policies=self._policies,
            secrets=secrets,
            documents=self._documents,
            actors=frozenset(self._started_by(actor)) - {""},
            provider=self._allowed,
            plugins=plugins,
            remaining=self._remaining,
            warn_of_denials=not denied and self._may_deny,
        )

    def _started_by(self, actor: str) -> tuple[str, ...]:
        """Return the ids of who started the run; of one that is resumed, as its approvals are checked."""
        if self._request.resume is None:
            return actor, os_user()
        recorded = self._request.resume.run
        facts = recorded.state.facts
        return str(facts.get("actor") or actor), str(facts.get("os_user") or ""), recorded.stored.owner

    def _allowed(self) -> ApprovalProvider | None:
        """Return the provider; refuse one whose answers a policy does not count."""
        found, project = _find_provider(self._request), self._request.project
        if found is not None and project is not None and project.model.approvals.config:
            refuse_own_keys(project, found.name)
        if found is not None and found.bridge and self._policies.people.personal_keys and self._request.mode == "real":
            raise UsageError(
                f"approval provider {found.name!r} cannot be used here, so nothing was run: a policy wants approvals "
                "signed with the key of a person (personal_keys), and it answers for people with a key of its own",
                kind=ErrorKind.KEY_NOT_PERSONAL,
                hint="choose another provider, such as --approval inbox, and answer with `gert approve`",
            )
        return found

    def denial(self) -> Restricted | None:
        """Return the step that a real run is certainly denied for, unless the run has to clean up before it ends."""
        if not self._may_deny:
            return None
        from gert_core.engine.denial import certain_denial

        found = certain_denial(self._compiled, self._policies, self._documents, self._remaining)
        if found is not None and self._remaining is not None and self._remaining.waits():
            return None
        return found


def _find_provider(request: Request) -> ApprovalProvider | None:
    """Return the provider asked for, the project's, else one that can ask right here."""
    if request.provider is not None:
        return request.provider
    wanted = chosen_provider(request)
    if wanted is not None:
        return request.registry.approval_provider(wanted)
    providers = request.registry.approval_providers().values()
    return next((p for p in sorted(providers, key=lambda p: p.name) if p.blocking), None)


__all__ = ["LookAhead"]
