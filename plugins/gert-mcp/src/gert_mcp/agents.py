"""What agents can do here: run what is served, look at runs, resume and cancel their own; never decide for people."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from gert_core.api import ErrorKind, GertError, UsageError
from gert_mcp.asking import ask_people
from gert_mcp.books import Books
from gert_mcp.callers import principal_of
from gert_mcp.exposure import said_by
from gert_mcp.given import as_arguments, refuse_inputs
from gert_mcp.replies import answer_run
from gert_mcp.roots import Roots
from gert_mcp.running import Runs
from gert_mcp.scenarios import refuse_scenario, to_replay
from gert_mcp.shown import shown_result, shown_run, shown_trace
from gert_mcp.tools import opaque

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult

    from gert_core.hosting import Host, RunView
    from gert_mcp.books import ServedBook
    from gert_mcp.callers import Caller
    from gert_mcp.command import ServerOptions


class AgentCall(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    caller: Caller


class Served:
    """Everything that one server serves."""

    def __init__(self, wanted: ServerOptions, environ: Mapping[str, str]) -> None:
        self.wanted = wanted
        self.roots = Roots(wanted, environ)
        self.books = Books(self.roots, wanted)
        self.runs = Runs()
        self.principal = principal_of(wanted.token if wanted.transport == "http" else None)

    async def start(
        self, call: AgentCall, book: ServedBook, *, inputs: Mapping[str, Any], mode: str | None, key: str | None
    ) -> CallToolResult:
        """Run a runbook for a caller, and return how it ended or what it waits for."""
        mode = self.wanted.modes[0] if mode is None else mode
        if mode not in self.wanted.modes:
            told = ", ".join(self.wanted.modes)
            raise UsageError(f"mode {mode!r} is not served here", kind=ErrorKind.NOT_SERVED, hint=f"there is {told}")
        refuse_inputs(book, inputs)
        try:
            begun = await self.runs.begin(
                book.host, book.path, call.caller, inputs=inputs, mode=mode, key=key, hide=book.opaque
            )
        except GertError as error:
            raise as_arguments(error) from None
        if isinstance(begun, str):
            return await self.answer(await self.look_at(call, begun, wait=0.0, after=None))
        found = await self.runs.watch(call.ctx, begun, hide=book.opaque)
        return await self.answer(await self._asked(call, book.host, found, hide=book.opaque))

    async def answer(self, document: dict[str, Any]) -> CallToolResult:
        """Return the result of a call about a run; a long document is written in a thread, others go on meanwhile."""
        return cast("CallToolResult", await self.runs.work(answer_run, document))

    async def resume(self, call: AgentCall, run_id: str) -> dict[str, Any]:
        """Resume a run of the caller's."""
        host, view = await self.runs.work(self.own, call.caller, run_id)
        self.refuse_mode(view.state.mode if view.state is not None else "")
        hide = await self.runs.work(self.is_opaque, view)
        begun = await self.runs.resume(host, view.run_id, call.caller, hide=hide)
        if isinstance(begun, dict):
            return self.shown(begun, hide=hide)
        return await self._asked(call, host, await self.runs.watch(call.ctx, begun, hide=hide), hide=hide)

    def refuse_mode(self, mode: str) -> None:
        """Raise ``UsageError`` for a run that goes on in a mode which agents may not ask for here."""
        if (mode or "real") not in self.wanted.modes:
            raise UsageError(
                f"the run is {mode or 'real'}, and this server serves {', '.join(self.wanted.modes)} only",
                kind=ErrorKind.NOT_SERVED,
                hint="a person can resume it with gert resume",
            )

    async def cancel(self, call: AgentCall, run_id: str) -> dict[str, Any]:
        """Cancel a run of the caller's."""
        host, view = await self.runs.work(self.own, call.caller, run_id)
        stands = await self.runs.work(host.cancel, view.run_id, reason="gert_cancel", by=call.caller.actor)
        return {"run_id": stands.run_id, "status": stands.status}

    async def look_at(self, call: AgentCall, run_id: str, *, wait: float, after: int | None) -> dict[str, Any]:
        """Return a run as it stands, after it has stopped or the time is up."""
        host, view = await self.runs.work(self._visible, call.caller, run_id)
        hide = await self.runs.work(self.is_opaque, view)
        live = self.runs.live(view.run_id)
        if live is not None and wait:
            await self.runs.watch(call.ctx, live, hide=hide, seconds=wait, runs=False)
            host, view = await self.runs.work(self._visible, call.caller, view.run_id)
        found = self.shown(await self.runs.work(view.to_json), hide=hide)
        if after is not None and not hide:
            found["events"] = await self.runs.work(shown_trace, host, view, after)
        return found

    def list_runs(self, caller: Caller, limit: int, runbook: str | None, status: str | None) -> list[dict[str, Any]]:
        """Return the runs that a caller may see, the newest first."""
        found: list[dict[str, Any]] = []
        for host in self.roots:
            for view in host.runs(runbook=runbook, status=status):
                if len(found) >= limit * len(self.roots.hosts):
                    break
                if self._may_see(caller, view):
                    found.append(shown_result(view))
        return sorted(found, key=lambda one: str(one.get("started") or ""), reverse=True)[:limit]

    def explain(self, path: str, step: str | None) -> list[dict[str, object]]:
        """Explain the steps of a runbook."""
        host, file = self.roots.locate(path)
        book = self.books.at(host, file)
        if book.opaque:
            raise opaque(book.label)
        return [one.to_json() for one in host.explain(file, step)]

    def to_replay(self, host: Host, path: Path, scenario: str | None) -> list[Path]:
        """Return what to test of a runbook or below a directory."""
        return to_replay(self.books, host, path, scenario)

    def refuse_scenario(self, host: Host, path: Path, document: object) -> None:
        """Raise ``UsageError`` for a file of a scenario of what agents see nothing of."""
        named = document.get("runbook") if isinstance(document, dict) else None
        refuse_scenario(self.books, host, path, named=named)

    def trace(self, caller: Caller, run_id: str) -> tuple[Host, RunView]:
        """Return a run whose trace a caller may read."""
        host, view = self._visible(caller, run_id)
        if self.is_opaque(view):
            raise opaque(str(view.run_id))
        return host, view

    def visible(self, caller: Caller, run_id: str) -> dict[str, Any]:
        """Return the document of a run that a caller may see."""
        _, view = self._visible(caller, run_id)
        return self.shown(view.to_json(), hide=self.is_opaque(view))

    def shown(self, document: dict[str, Any], *, hide: bool) -> dict[str, Any]:
        """Return the document of a run as agents see it."""
        return shown_run(document, hide=hide, url=self.wanted.approve_url)

    async def _asked(self, call: AgentCall, host: Host, found: dict[str, Any], *, hide: bool) -> dict[str, Any]:
        """Return the result of a run, when the client has been told where people answer."""
        shown = self.shown(found, hide=hide)
        again = await ask_people(self, call, host, shown, hide=hide)
        return shown if again is None else again

    def own(self, caller: Caller, run_id: str) -> tuple[Host, RunView]:
        """Return a run that a caller may manage."""
        host, view = self._visible(caller, run_id)
        if not self.wanted.manage_all:
            caller.refuse_others(view)
        return host, view

    def _visible(self, caller: Caller, run_id: str) -> tuple[Host, RunView]:
        """Return a run that a caller may see; of others it is not told whether they exist."""
        return self.roots.find_run(run_id, partial(self._may_see, caller))

    def _may_see(self, caller: Caller, view: RunView) -> bool:
        """Return whether a run is shown: its runbook is served, or is gone and was the caller's to run."""
        served = self.books.serves(_runbook(view))
        return served or (served is None and caller.owns(view))

    def is_opaque(self, view: RunView) -> bool:
        """Return whether the steps of a run are not shown: as its runbook said when it began, or says now."""
        book = self.books.of_run(_path(view)) if _runbook(view) is not None else None
        return (book is not None and book.opaque) or said_opaque(view)


def said_opaque(view: RunView) -> bool:
    """Return whether a run's own record says that it is opaque; one that cannot be read counts as that."""
    if view.state is None:
        return True
    return said_by(view.state.facts).opaque


def _runbook(view: RunView) -> object:
    return None if view.state is None else view.state.facts.get("runbook_path")


def _path(view: RunView) -> Path:
    from pathlib import Path

    return Path(str(_runbook(view)))


__all__ = ["AgentCall", "Served"]
