"""List the values that complete a command line: run ids, tickets, scenarios and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.cli.session import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

OPTIONS: Final = {"--run": "runs", "--ticket": "tickets", "--scenario": "scenarios", "--var": "inputs"}
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
    "approve": "tickets",
    "reject": "tickets",
    "approvals show": "tickets",
}
"""The kind of value that a command takes as its argument."""


def values(kind: str, file: Path | None) -> list[str]:
    """Return the values of a kind; ``file`` is the runbook, or the directory of runbooks, on the command line."""
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


KINDS: Final[dict[str, Callable[[Path | None], Iterable[str]]]] = {
    "runs": _runs,
    "tickets": _tickets,
    "scenarios": _scenarios,
    "inputs": _inputs,
}

__all__ = ["ARGUMENTS", "KINDS", "OPTIONS", "values"]
