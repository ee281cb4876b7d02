"""``/start``: choose a runbook of the project, fill in its inputs, and start a run as the person who is logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gert_core.hosting.inputs import input_fields
from gert_web.problems import PageError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from gert_web.site import PageVisit

MODES: Final = ("real", "dry-run")
_INPUT: Final = "input:"


def books(visit: PageVisit) -> Response:
    """Show the runbooks of the project, or the form of one, to somebody whom runs can be attributed to."""
    actor = visit.actor()
    wanted = visit.query("runbook")
    names = _names(visit)
    if not wanted:
        return visit.page("start.html", books=sorted(names), chosen=None, fields=[], modes=MODES, actor=actor)
    path = _chosen(names, wanted)
    fields = input_fields(visit.host, path)
    return visit.page("start.html", books=[], chosen=wanted, fields=fields, modes=MODES, actor=actor)


def start(visit: PageVisit) -> Response:
    """Start a run, and go to its page."""
    actor = visit.actor()
    path = _chosen(_names(visit), visit.fields["runbook"])
    mode = visit.fields["mode"]
    if mode not in MODES:
        raise PageError(400, f"A run is started in one of the modes {', '.join(MODES)}.")
    inputs: dict[str, Any] = {
        field.name: value
        for field in input_fields(visit.host, path)
        if (value := visit.fields[f"{_INPUT}{field.name}"]) != ""
    }
    run = visit.host.start(
        path,
        inputs=inputs,
        mode=mode,
        approval=visit.host.suspending_approval,
        questions="suspend",
        actor=actor,
    )
    if mode != "real":
        result = run.wait(60.0)
        return visit.page("dry.html", name=visit.fields["runbook"], result=result)
    return visit.go(f"/runs/{quote(run.run_id, safe='')}")


def _names(visit: PageVisit) -> dict[str, Path]:
    return {str(path.relative_to(visit.host.root)): path for path in visit.host.runbooks()}


def _chosen(names: dict[str, Path], wanted: str) -> Path:
    if wanted not in names:
        raise PageError(404, "The project has no such runbook.", hint="The page Start lists them.")
    return names[wanted]


__all__ = ["books", "start"]
