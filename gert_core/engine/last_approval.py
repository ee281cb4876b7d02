"""What changed since a step was approved last, for what a run's approval provider sends to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, RunStore
    from gert_core.engine.request import Request
    from gert_core.secrets import Masker


class LastApproval:
    """Looks for the last approval of a step when a provider asks for it; until then it costs nothing."""

    def __init__(self, request: Request, store: RunStore | None, masker: Masker) -> None:
        self._request = request
        self._store = store
        self._masker = masker

    def __call__(self, asked: ApprovalRequest) -> Mapping[str, Any] | None:
        """Return what changed, without the secrets of this run; None when it was never approved, or is not kept."""
        if self._store is None:
            return None
        from gert_core.approvals.known import checked_against
        from gert_core.approvals.since import since_last_json
        from gert_core.engine.known_secrets import hide

        request = self._request
        known = checked_against(request.project, lambda: request.registry, request.environ)
        found = since_last_json(self._store, asked, known=known)
        return None if found is None else dict(hide(self._masker, found))


__all__ = ["LastApproval"]
