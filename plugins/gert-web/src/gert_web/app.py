"""The application: which page answers which path, for whom, and what becomes of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from gert_core.api import GertError
from gert_web.forms import Fields
from gert_web.guarding import CALLBACKS, HEALTH
from gert_web.pages import answers, api, following, links, login, outcomes, runs, starting, tickets
from gert_web.pages.callbacks import callbacks
from gert_web.people import LoginSessions
from gert_web.problems import PageError, page_error
from gert_web.rendering import STATIC
from gert_web.site import PageVisit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request

    from gert_core.kit.links import LinkClaims
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
        Route("/tickets/{ticket}/comment", seen.sent(tickets.comment), methods=["POST"]),
        Route("/runs", seen.shown(runs.listing)),
        Route("/runs/{run}", seen.shown(runs.one_run)),
        Route("/runs/{run}/events", following.events(site)),
        Route("/runs/{run}/answer/{step:path}", seen.shown(answers.answer)),
        Route("/runs/{run}/answer/{step:path}", seen.sent(answers.send), methods=["POST"]),
        Route("/runs/{run}/resume", seen.sent(runs.resume), methods=["POST"]),
        Route("/outcomes", seen.shown(outcomes.outcomes)),
        Route("/api/runs", seen.shown(api.runs)),
        Route("/api/tickets", seen.shown(api.tickets)),
        Route(HEALTH, _healthy),
        Route("/a/{token}", seen.linked(links.link)),
        Route("/a/{token}", seen.linked(links.decide, sent=True), methods=["POST"]),
        Route("/static/outcomes.css", outcomes.style_sheet),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    answering = callbacks(site)
    routes += [
        Route(f"{CALLBACKS}/{{provider}}{rest}", answering, methods=["GET", "POST"]) for rest in ("", "/{ticket}")
    ]
    if site.wanted.start:
        routes.append(Route("/start", seen.shown(starting.books)))
        routes.append(Route("/start", seen.sent(starting.start), methods=["POST"]))
    if isinstance(site.doorman, LoginSessions):
        routes.append(Route("/login/{token}", login.login(site, site.doorman)))
    handlers = {
        PageError: seen.problem,
        GertError: seen.problem,
        HTTPException: seen.problem,
        ClientDisconnect: _gone,
        Exception: seen.problem,
    }
    made = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    made.router.redirect_slashes = False
    return made


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
            return await run_in_threadpool(page, await self._visit(request, person))

        return endpoint

    def linked(self, page: Callable[[PageVisit, LinkClaims], Response], *, sent: bool = False) -> Endpoint:
        """Return what answers a personal link, or with ``sent`` the form on its page."""
        links = self._site.links

        async def endpoint(request: Request) -> Response:
            claims = links.claims(request)
            person = await run_in_threadpool(links.person, request)
            visit = await self._visit(request, person, sent=sent)
            return await run_in_threadpool(page, visit, claims)

        return endpoint

    async def _visit(self, request: Request, person: Visitor, *, sent: bool = True) -> PageVisit:
        """Return who asks for what; raise ``PageError`` for a form that a page of this server did not send."""
        if not sent:
            return PageVisit(site=self._site, request=request, person=person, fields=Fields([]))
        self._site.keys.check_origin(request)
        body = await request.body()
        fields = await form_of(request)
        self._site.keys.check(request, fields, person)
        return PageVisit(site=self._site, request=request, person=person, fields=fields, body=body)

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


async def _gone(_: Request, __: Exception) -> Response:
    """Answer a request that broke off before its end: the client is gone, and nothing is wrong here."""
    return PlainTextResponse("the request broke off\n", status_code=400)


async def form_of(request: Request) -> Fields:
    """Return the fields that a form sent; files are none."""
    try:
        async with request.form(max_files=0, max_fields=FIELDS) as form:
            return Fields([(key, value) for key, value in form.multi_items() if isinstance(value, str)])
    except HTTPException as error:
        raise PageError(400, f"The form cannot be read: {error.detail}") from None
    except (UnicodeError, LookupError):  # of the charset that the form names
        raise PageError(400, "The form cannot be read: it is not in UTF-8.") from None


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
