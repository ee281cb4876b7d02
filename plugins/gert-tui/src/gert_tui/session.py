"""One run that is looked at: executed here, or followed; it stays when its screen is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.api import GertError
from gert_tui.feed import Feed, Follower
from gert_tui.model.run import RunModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.hosting import Host, HostedRun, RunView
    from gert_core.hosting.steps import Graph


class RunSession:
    """A run with what is known of it."""

    def __init__(self, host: Host, *, runbook: Path | None, mode: str = "real") -> None:
        self.host = host
        self.runbook = runbook
        self.mode = mode
        self.run_id = ""
        self.feed = Feed()
        self.graph = _graph(host, runbook)
        self.model = RunModel(self.graph)
        self.hosted: HostedRun | None = None
        self.told_end: object = None
        """The end that its output has already: what it had said when its screen was left."""
        self._follower: Follower | None = None

    @classmethod
    def start(cls, host: Host, runbook: Path, **options: Any) -> RunSession:
        """Start a run of a runbook; raise ``GertError`` for everything that is known before it runs."""
        session = cls(host, runbook=runbook, mode=str(options.get("mode") or "real"))
        session.hosted = host.start(runbook, on_notice=session.feed.put, **{"questions": "ask", **options})
        session.run_id = session.hosted.run_id
        return session

    @classmethod
    def follow(cls, host: Host, run_id: str) -> RunSession:
        """Follow a run of any process, from its beginning."""
        view = host.run(run_id)
        facts: Mapping[str, Any] = {} if view.state is None else view.state.facts
        path = facts.get("runbook_path")
        session = cls(host, runbook=Path(str(path)) if path else None, mode=str(facts.get("mode") or ""))
        session.run_id = view.run_id
        session._follower = Follower(host, view.run_id, session.feed).start()
        return session

    @property
    def live(self) -> bool:
        """Whether it is executed here now."""
        return self.hosted is not None and not self.hosted.done

    @property
    def view(self) -> RunView | None:
        """The run as it is kept; None for one that is not, such as a dry-run."""
        run_id = (self.hosted.run_id if self.hosted is not None else "") or self.run_id
        try:
            return self.host.run(run_id) if run_id else None
        except GertError:
            return None

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs that can be given to another run: those that are not secret."""
        return {
            name: data["value"]
            for name, data in self.model.inputs.items()
            if not data.get("secret") and "value" in data
        }

    def resume(self, **options: Any) -> None:
        """Go on with the run here; raise ``GertError`` when that cannot be."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None
        self.hosted = self.host.resume(self.run_id, on_notice=self.feed.put, questions="ask", **options)

    def close(self) -> None:
        """Follow no longer; a run that is executed here goes on."""
        if self._follower is not None:
            self._follower.close()


def _graph(host: Host, runbook: Path | None) -> Graph | None:
    """Return the steps that a runbook plans; None when it is not there any more, or not as it was."""
    try:
        return None if runbook is None else host.graph(runbook)
    except (GertError, OSError):
        return None


__all__ = ["RunSession"]
