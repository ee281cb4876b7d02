"""``/runs/{id}/events``: what a run tells as it happens, for pages that update themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gert_web.live import CrowdedError
from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from gert_web.site import WebSite


def events(site: WebSite) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers with the events of a run behind ``Last-Event-ID`` or ``?after=``."""

    async def endpoint(request: Request) -> Response:
        site.doorman.person(request)
        after = _number(request.headers.get("last-event-id") or request.query_params.get("after") or "0")
        view = await run_in_threadpool(site.host.run, request.path_params["run"])
        last = 0 if view.state is None else view.state.seq
        if view.state is not None and view.state.over and after >= last:
            return Response(status_code=204)  # browsers do not ask again then
        try:
            site.live.check(view.run_id)
        except CrowdedError:
            hint = "Load the page again to see how far the run is."
            raise PageError(503, "Too many runs are being followed here.", hint=hint) from None
        return EventSourceResponse(site.live.events(view.run_id, min(after, last)))

    return endpoint


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise PageError(400, "The number of the last event is not a number.")
    return int(text)


__all__ = ["events"]
