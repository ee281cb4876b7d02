"""List the values that complete a command line: run ids, tickets, scenarios, inputs, steps and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.cli.session import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

STEPS: Final = "steps"
"""The kind whose values are those of a runbook or a run that comes before them on the command line."""
OPTIONS: Final = {
    "--run": "runs",
    "--ticket": "tickets",
    "--scenario": "scenarios",
    "--var": "inputs",
    "--step": STEPS,
}
"""The kind of value that follows an option."""
ARGUMENTS: Final = {
    "resume": "runs",
    "answer": "runs",
    "runs artifacts": "runs",
    "runs logs": "runs",
    "runs progress": "runs",
    "runs block": "runs",
    "runs unblock": "runs",
    "runs show": "runs",
    "runs cancel": "runs",
    "runs export": "runs",
    "runs status": "runs",
    "runs tail": "runs",
    "runs verify-ledger": "runs",
    "runs summaries": "runs",
    "runs resume-point": "runs",
    "runs lease": "runs",
    "runs reconcile": "runs",
    "notify list": "runs",
    "notify flush": "runs",
    "notify drop": "runs",
    "scenario record": "runs",
    "scenario promote": "scenarios",
    "scenario demote": "scenarios",
    "approve": "tickets",
    "reject": "tickets",
    "approvals show": "tickets",
    "explain": STEPS,
    "tools show": "tools",
}
"""The kind of value that a command takes as its argument."""


_HERE: Final = ("scenario promote", "scenario demote")
"""Commands whose scenarios are those of all runbooks in the working directory."""
_THEN_STEPS: Final = ("runs logs",)
"""Commands whose argument behind the run is a step."""


def values(kind: str, file: Path | None, *, run: str | None = None, command: str = "") -> list[str]:
    """Return the values of a kind.

    On the command line, ``file`` is the runbook or the directory of runbooks, ``run`` the run, ``command`` the command.
    """
    if run is not None and (kind == STEPS or command in _THEN_STEPS):
        return list(_steps_of_run(run))
    if file is None and command in _HERE:
        from pathlib import Path

        file = Path()
    return list(KINDS[kind](file))


def _runs(_: Path | None) -> Iterable[str]:
    """Yield the ids of all runs, newest first."""
    from gert_core.cli.stores import store_here

    return store_here(Options(), None).run_ids()


def _tickets(_: Path | None) -> Iterable[str]:
    """Yield the tickets that wait for an answer."""
    from datetime import UTC, datetime

    from gert_core.approvals.inbox import entries
    from gert_core.cli.stores import store_here

    now = datetime.now(UTC)
    found = entries(store_here(Options(), None), unresolved=True)
    return [entry.request.ticket_id for entry in found if entry.status(now) == "pending"]


def _scenarios(file: Path | None) -> Iterable[str]:
    from gert_core.documents.scenario import SCENARIO_FILE
    from gert_core.scenarios.find import find_runbooks, scenarios_directory

    folders = [scenarios_directory(runbook) for runbook in find_runbooks([file]).runbooks] if file is not None else []
    return sorted({path.parent.name for folder in folders for path in folder.glob(f"*/{SCENARIO_FILE}")})


def _inputs(file: Path | None) -> Iterable[str]:
    """Yield ``NAME=`` for every input that the runbook declares, whether or not it is valid otherwise."""
    from gert_core.documents import yaml

    document = yaml.load(file).value if file is not None and file.is_file() else None
    meta = document.get("meta") if isinstance(document, dict) else None
    inputs = meta.get("inputs") if isinstance(meta, dict) else None
    return [f"{name}=" for name in inputs] if isinstance(inputs, dict) else []


def _steps(file: Path | None) -> Iterable[str]:
    """Yield the ids of the steps of a runbook, whether or not it is valid."""
    from gert_core.documents import yaml

    open_ = [yaml.load(file).value] if file is not None and file.is_file() else []
    found: dict[str, None] = {}
    while open_:
        value = open_.pop()
        if isinstance(value, dict):
            if isinstance(value.get("id"), str) and "type" in value:
                found[value["id"]] = None
            open_ += reversed(value.values())
        elif isinstance(value, list):
            open_ += reversed(value)
    return found


def _steps_of_run(run_id: str) -> Iterable[str]:
    """Yield the keys of the steps of a run."""
    from gert_core.cli.stores import store_here
    from gert_core.runs.find import find_run
    from gert_core.runs.listing import run_info

    state = run_info(find_run(store_here(Options(), None), run_id)).state
    return () if state is None else state.steps


def _tools(_: Path | None) -> Iterable[str]:
    """Yield the names of all installed and project tools."""
    from pathlib import Path

    from gert_core.cli.session import project_here, registry_for
    from gert_core.explain.tools import tool_entries

    project = project_here()
    registry = registry_for(project, warn=False)
    return [entry.name for entry in tool_entries(registry=registry, project=project, base=Path(), environ={})]


KINDS: Final[dict[str, Callable[[Path | None], Iterable[str]]]] = {
    "runs": _runs,
    "tickets": _tickets,
    "scenarios": _scenarios,
    "inputs": _inputs,
    STEPS: _steps,
    "tools": _tools,
}

__all__ = ["ARGUMENTS", "KINDS", "OPTIONS", "STEPS", "values"]
