"""The application: which page answers which path, for whom, and what becomes of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from gert_core.api import GertError
from gert_web.forms import Fields
from gert_web.pages import api, following, login, runs, tickets
from gert_web.people import LoginSessions
from gert_web.problems import PageError, page_error
from gert_web.rendering import STATIC
from gert_web.site import PageVisit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request

    from gert_web.people import Visitor
    from gert_web.site import WebSite

    Page = Callable[[PageVisit], Response]
    Endpoint = Callable[[Request], Awaitable[Response]]

FIELDS = 200
"""How many fields a form may have."""


def application(site: WebSite, *, lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]]) -> Starlette:
    """Return the application of a site."""
    seen = Endpoints(site)
    routes: list[BaseRoute] = [
        Route("/", seen.shown(lambda visit: visit.go("/tickets"))),
        Route("/tickets", seen.shown(tickets.inbox)),
        Route("/tickets/{ticket}", seen.shown(tickets.ticket)),
        Route("/tickets/{ticket}/decide", seen.sent(tickets.decide), methods=["POST"]),
        Route("/runs", seen.shown(runs.listing)),
        Route("/runs/{run}", seen.shown(runs.one_run)),
        Route("/runs/{run}/events", following.events(site)),
        Route("/api/runs", seen.shown(api.runs)),
        Route("/api/tickets", seen.shown(api.tickets)),
        Route("/healthz", _healthy),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    if isinstance(site.doorman, LoginSessions):
        routes.append(Route("/login/{token}", login.login(site, site.doorman)))
    handlers = {
        PageError: seen.problem,
        GertError: seen.problem,
        HTTPException: seen.problem,
        Exception: seen.problem,
    }
    return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)


class Endpoints:
    """Finds out who sends a request before a page is made, in another thread: pages read files."""

    def __init__(self, site: WebSite) -> None:
        self._site = site

    def shown(self, page: Page) -> Endpoint:
        """Return what answers GET with a page."""

        async def endpoint(request: Request) -> Response:
            person = self._site.doorman.person(request)
            visit = PageVisit(site=self._site, request=request, person=person, fields=Fields([]))
            return await run_in_threadpool(page, visit)

        return endpoint

    def sent(self, page: Page) -> Endpoint:
        """Return what answers POST of a form that a page of this server sent."""

        async def endpoint(request: Request) -> Response:
            person = self._site.doorman.person(request)
            fields = await form_of(request)
            self._site.keys.check(request, fields, person)
            visit = PageVisit(site=self._site, request=request, person=person, fields=fields)
            return await run_in_threadpool(page, visit)

        return endpoint

    async def problem(self, request: Request, error: Exception) -> Response:
        """Return the page that says what is wrong."""
        found = _as_page(error)
        person = self._known(request)
        if request.url.path.startswith("/api/"):
            return PlainTextResponse(f"{found.message}\n", status_code=found.status)
        return await run_in_threadpool(self._site.problem, found, person)

    def _known(self, request: Request) -> Visitor | None:
        try:
            return self._site.doorman.person(request)
        except PageError:
            return None


async def form_of(request: Request) -> Fields:
    """Return the fields that a form sent; files are none."""
    try:
        async with request.form(max_files=0, max_fields=FIELDS) as form:
            return Fields([(key, value) for key, value in form.multi_items() if isinstance(value, str)])
    except HTTPException as error:
        raise PageError(400, f"The form cannot be read: {error.detail}") from None


def _as_page(error: Exception) -> PageError:
    if isinstance(error, PageError):
        return error
    if isinstance(error, GertError):
        return page_error(error)
    if isinstance(error, HTTPException):
        told = {404: "This server has no page of that name.", 405: "This page cannot be used in that way."}
        return PageError(error.status_code, told.get(error.status_code, error.detail))
    return PageError(500, "The server failed to answer this request.", hint="Its own messages say why.")


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")


__all__ = ["application", "form_of"]
