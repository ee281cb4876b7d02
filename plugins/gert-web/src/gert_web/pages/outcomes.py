"""``/outcomes``: what past runs came to, as ``gert outcomes`` counts and draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_outcomes.collect import collect
from gert_outcomes.command import BY, OutcomesOptions
from gert_outcomes.page import content
from gert_outcomes.style import style
from markupsafe import Markup
from starlette.responses import Response

from gert_web.problems import PageError

if TYPE_CHECKING:
    from starlette.requests import Request

    from gert_web.site import PageVisit

PERIODS: Final = {"24h": "a day", "7d": "a week", "30d": "30 days", "90d": "90 days", "": "all time"}
"""What the page offers; other times work in the address too."""


def outcomes(visit: PageVisit) -> Response:
    """Show what runs came to."""
    since = visit.query("since") if "since" in visit.request.query_params else "30d"
    by = visit.query("by") or BY[0]
    if by not in BY:
        raise PageError(400, f"Outcomes are parted by {', '.join(BY)}.")
    wanted = OutcomesOptions(
        since=since or None, by=by, runbook=visit.query("runbook") or None, steps=visit.query("steps") == "1"
    )
    # What stands on it is marked there: nothing of a run is markup.
    body = Markup(content(collect(visit.host.past(), wanted)))  # noqa: S704
    return visit.page("outcomes.html", body=body, wanted=wanted, since=since, periods=PERIODS, parts=BY)


async def style_sheet(_: Request) -> Response:
    """Answer with the style sheet of the charts."""
    return Response(style(), media_type="text/css")


__all__ = ["outcomes", "style_sheet"]
