"""``/callbacks/{provider}``: what comes back from where people were asked, handed to the provider as it came."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from anyio import CapacityLimiter, to_thread
from starlette.background import BackgroundTask
from starlette.responses import PlainTextResponse, Response

from gert_core.api import CallbackRequest, GertError
from gert_core.kit.local_paths import without_directories
from gert_web.problems import STATUSES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from gert_web.site import WebSite

AT_ONCE: Final = 32
"""How many callbacks are handled at once; they do not wait for pages, nor pages for them."""
log = logging.getLogger("gert_web")


def callbacks(site: WebSite) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers them. They carry no identity of ours: the provider finds out who sends them."""
    limiter = CapacityLimiter(AT_ONCE)

    async def endpoint(request: Request) -> Response:
        provider, ticket = str(request.path_params["provider"]), request.path_params.get("ticket")
        if provider not in site.callbacks:
            return PlainTextResponse(f"no approval provider {provider!a} takes callbacks here\n", status_code=404)
        given = CallbackRequest(
            method=request.method,
            path=f"/{ticket}" if ticket is not None else "",
            headers=tuple(
                (name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in request.headers.raw
            ),
            body=await request.body(),
            now=datetime.now(UTC),
        )
        try:
            reply = await to_thread.run_sync(site.host.callback, provider, given, limiter=limiter)
        except GertError as error:
            log.error("%s", error.message)
            return PlainTextResponse(
                f"{without_directories(error.message)}\n", status_code=STATUSES.get(str(error.kind), 400)
            )
        after = None if reply.after is None else BackgroundTask(_afterwards, reply.after)
        return Response(reply.body, status_code=reply.status, media_type=reply.content_type, background=after)

    return endpoint


def _afterwards(task: Callable[[], object]) -> None:
    """Do what a provider left for after its answer; what is wrong with it is said, and answers are not lost by it."""
    try:
        task()
    except Exception as error:
        log.error("after a callback: %s", getattr(error, "message", None) or error)


__all__ = ["callbacks"]
