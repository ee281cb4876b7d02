"""``/api``: runs and tickets as JSON, exactly as the commands print them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response

from gert_core.hosting.views import row_document
from gert_web.pages.runs import KEPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_web.site import PageVisit

MOST: Final = 1000
"""How many runs one answer has at most."""


def runs(visit: PageVisit) -> Response:
    """Answer as ``gert runs list --json``."""
    rows = (row for row in visit.host.rows() if row.mode in KEPT)
    return JSONResponse({"runs": [row_document(row) for row in islice(rows, MOST)]})


def tickets(visit: PageVisit) -> Response:
    """Answer as ``gert approvals list --json``."""
    unreadable: list[Mapping[str, Any]] = []
    found = [view.to_json() for view in visit.host.tickets(report=unreadable.append)]
    return JSONResponse({"approvals": found, "unreadable": unreadable})


__all__ = ["runs", "tickets"]
